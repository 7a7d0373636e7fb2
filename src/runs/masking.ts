// Hides the values that had to enter a sandbox wherever an agent repeats them.
import type { NewEvent } from '../events/vocabulary/vocabulary.ts';
import { mask } from '../mcp/secrets.ts';

/** Shorter ones would hide half of a log, and hide nothing. */
const maskedCharsMin = 4;
/** The same for a line of a secret. */
const lineCharsMin = 8;

/** Words of ours, not of an agent, where we write them. */
const ownWords: ReadonlySet<string> = new Set(['timestamp', 'source', 'action', 'observation']);
const ownDetails: ReadonlySet<string> = new Set([
  'agent_state',
  'confirmation_state',
  'security_risk',
  'operation',
  'outcome',
]);

export interface Masking {
  /** From now on this value is hidden, too. */
  hide(value: string): void;
  text(text: string): string;
  event(event: NewEvent): NewEvent;
}

/**
 * Also each of its lines: long texts come in pieces, which end where lines do, and programs indent lines or end them
 * in ways of their own.
 */
function valuesOf(secret: string): string[] {
  const lines = secret.split('\n').map((line) => line.trim());
  const long = lines.filter((line) => line.length >= lineCharsMin);
  return [secret, ...long].filter((value) => value.length >= maskedCharsMin);
}

export function createMasking(secrets: Iterable<string>): Masking {
  const hidden = new Set([...secrets].flatMap(valuesOf));
  /** The longest first: one may be the start of another. */
  const sort = () => [...hidden].toSorted((a, b) => b.length - a.length);
  let values = sort();
  // One after the other: a pattern of all of them can be larger than an engine of patterns takes.
  const text = (shown: string) => values.reduce((rest, value) => rest.replaceAll(value, mask), shown);

  /** Members that we have named, some of which hold our own words. */
  function ours(value: object, words: ReadonlySet<string>): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, words.has(name) ? member : any(member)]),
    );
  }

  function any(value: unknown): unknown {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map(any);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [text(name), any(member)]));
  }

  function event(shown: NewEvent): NewEvent {
    const { args, extras, ...rest } = shown as Readonly<Record<string, unknown>>;
    const details = (value: unknown) =>
      typeof value === 'object' && value !== null ? ours(value, ownDetails) : any(value);
    return {
      ...ours(rest, ownWords),
      ...(args === undefined ? {} : { args: details(args) }),
      ...(extras === undefined ? {} : { extras: details(extras) }),
    } as unknown as NewEvent;
  }

  return {
    hide: (value) => {
      for (const one of valuesOf(value)) hidden.add(one);
      values = sort();
    },
    text,
    event: (shown) => (values.length === 0 ? shown : event(shown)),
  };
}
