// A list of stored entries, such as keys or webhooks, each with a name, facts and buttons.
import { type ReactNode, useEffect, useRef } from 'react';
import { focusHeading } from '../../components/focus.ts';
import { useSettingsTexts } from '../../texts/settings/texts.ts';

interface EntryProps {
  readonly name: string;
  readonly mono?: boolean;
  readonly badge?: ReactNode;
  readonly facts: readonly (string | null)[];
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

export function Entry({ name, mono = false, badge, facts, actions, children }: EntryProps) {
  const shown = facts.filter((fact) => fact !== null && fact !== '');
  return (
    <li>
      <div className="entry-head">
        <div className="entry-name">
          <p>
            <strong className={mono ? 'mono' : undefined}>{name}</strong> {badge}
          </p>
          {shown.length === 0 ? null : <p className="muted facts">{shown.join(' · ')}</p>}
        </div>
        {actions === undefined ? null : <div className="row">{actions}</div>}
      </div>
      {children}
    </li>
  );
}

interface EntryButtonProps {
  readonly label: string;
  /** The name of the entry, for screen readers. */
  readonly entryName: string;
  readonly danger?: boolean;
  readonly busy?: boolean;
  readonly expanded?: boolean;
  readonly onClick: () => void;
}

export function EntryButton({
  label,
  entryName,
  danger = false,
  busy = false,
  expanded,
  onClick,
}: EntryButtonProps) {
  const texts = useSettingsTexts();
  return (
    <button
      type="button"
      className={danger ? 'button small danger' : 'button small'}
      aria-label={texts.labelFor(label, entryName)}
      aria-expanded={expanded}
      aria-disabled={busy || undefined}
      onClick={() => !busy && onClick()}
    >
      {label}
    </button>
  );
}

/** Focuses the heading of the section when an entry is removed. */
export function EntryList({ empty, children }: { readonly empty?: string; readonly children: ReactNode }) {
  const count = Array.isArray(children) ? children.length : 1;
  const frame = useRef<HTMLDivElement>(null);
  const before = useRef(count);
  useEffect(() => {
    if (count < before.current) focusHeading(frame.current?.closest('.section'));
    before.current = count;
  }, [count]);
  if (count === 0 && empty === undefined) return null;
  return (
    <div className="entry-list" ref={frame}>
      {count === 0 ? <p className="muted">{empty}</p> : <ul className="entries">{children}</ul>}
    </div>
  );
}
