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
  text(text: string): string;
  event(event: NewEvent): NewEvent;
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

export function createMasking(secrets: Iterable<string>): Masking {
  const values = [...new Set(secrets)].filter((value) => value.length >= maskedCharsMin);
  if (values.length === 0) return { text: (text) => text, event: (event) => event };
  // The longest first: one may be the start of another.
  const sorted = values.toSorted((a, b) => b.length - a.length);
  const pattern = new RegExp(sorted.map(escapePattern).join('|'), 'g');
  const text = (value: string) => value.replace(pattern, mask);

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

  return { text, event: (event) => any(event) as NewEvent };
}
