// A list of what is stored: each entry with its name, what is known of it, and what can be done with it.
import { type ReactNode, useEffect, useRef } from 'react';
import { focusHeading } from '../parts/focus.ts';
import { useSettingsTexts } from '../texts/settings/texts.ts';

interface EntryProps {
  readonly name: string;
  readonly mono?: boolean;
  /** Beside the name. */
  readonly badge?: ReactNode;
  readonly facts: readonly (string | null)[];
  readonly actions?: ReactNode;
  /** Below it. */
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
          {shown.length === 0 ? null : <p className="quiet facts">{shown.join(' · ')}</p>}
        </div>
        {actions === undefined ? null : <div className="row">{actions}</div>}
      </div>
      {children}
    </li>
  );
}

interface ActionProps {
  readonly label: string;
  /** Of which entry, for those who do not see where it stands. */
  readonly of: string;
  readonly danger?: boolean;
  readonly busy?: boolean;
  readonly expanded?: boolean;
  readonly onClick: () => void;
}

export function EntryAction({ label, of, danger = false, busy = false, expanded, onClick }: ActionProps) {
  const texts = useSettingsTexts();
  return (
    <button
      type="button"
      className={danger ? 'button small danger' : 'button small'}
      aria-label={texts.of(label, of)}
      aria-expanded={expanded}
      aria-disabled={busy || undefined}
      onClick={() => !busy && onClick()}
    >
      {label}
    </button>
  );
}

/** Where an entry goes that has the focus, the heading takes it. */
export function Entries({ empty, children }: { readonly empty?: string; readonly children: ReactNode }) {
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
      {count === 0 ? <p className="quiet">{empty}</p> : <ul className="entries">{children}</ul>}
    </div>
  );
}
