// A list of what is stored: each entry with its name, what is known of it, and what can be done with it.
import type { ReactNode } from 'react';
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
    <li className="entry">
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
      aria-busy={busy || undefined}
      onClick={onClick}
    >
      {label}
    </button>
  );
}

export function Entries({ empty, children }: { readonly empty?: string; readonly children: ReactNode }) {
  const none = Array.isArray(children) && children.length === 0;
  if (none) return empty === undefined ? null : <p className="quiet">{empty}</p>;
  return <ul className="entries">{children}</ul>;
}
