// Hides the values that had to enter a sandbox wherever an agent repeats them.
import type { NewEvent } from '../events/shapes.ts';
import { mask } from '../mcp/secrets.ts';

/** Shorter ones would hide half of a log, and hide nothing. */
const maskedCharsMin = 4;

/** Words of ours, not of an agent. */
const ownMembers: ReadonlySet<string> = new Set([
  'timestamp',
  'source',
  'action',
  'observation',
  'agent_state',
  'confirmation_state',
  'security_risk',
]);

export interface Masking {
  /** From now on this value is hidden, too. */
  hide(value: string): void;
  text(text: string): string;
  event(event: NewEvent): NewEvent;
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** The longest first: one may be the start of another. */
function patternOf(values: ReadonlySet<string>): RegExp | undefined {
  const sorted = [...values].toSorted((a, b) => b.length - a.length);
  return sorted.length === 0 ? undefined : new RegExp(sorted.map(escapePattern).join('|'), 'g');
}

export function createMasking(secrets: Iterable<string>): Masking {
  // Long texts come in pieces, which end where lines do.
  const lines = [...secrets].flatMap((value) => [value, ...value.split('\n')]);
  const values = new Set(lines.filter((value) => value.length >= maskedCharsMin));
  let pattern = patternOf(values);
  const text = (value: string) => (pattern === undefined ? value : value.replace(pattern, mask));

  function any(value: unknown): unknown {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map(any);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) =>
        ownMembers.has(name) ? [name, member] : [text(name), any(member)],
      ),
    );
  }

  return {
    hide: (value) => {
      values.add(value);
      pattern = patternOf(values);
    },
    text,
    event: (event) => (pattern === undefined ? event : (any(event) as NewEvent)),
  };
}
