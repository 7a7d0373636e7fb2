// Masks the secret values that are in a sandbox wherever an agent repeats them.
import type { NewEvent } from '../events/vocabulary/vocabulary.ts';
import { mask } from '../mcp/secrets.ts';
import { createMaskedStream, createSecretValues, type MaskedStream } from '../text/secretValues.ts';

/** Masking shorter values would hide half of a log and protect nothing. */
const maskedCharsMin = 4;
/** The same for a single line of a secret. */
const lineCharsMin = 8;

/** Fields whose values Parley writes itself. They are never masked. */
const ownFields: ReadonlySet<string> = new Set(['timestamp', 'source', 'action', 'observation']);
const ownDetailFields: ReadonlySet<string> = new Set([
  'agent_state',
  'confirmation_state',
  'security_risk',
  'operation',
  'outcome',
]);

export interface Masking {
  /** Masks these values as well from now on. */
  hide(...secrets: readonly string[]): void;
  text(text: string): string;
  /** Masks a text that is still being written. */
  stream(): MaskedStream;
  event(event: NewEvent): NewEvent;
}

/**
 * Each line is masked as well, because long texts arrive in pieces that end at lines, and programs indent lines or
 * change their ends.
 */
function valuesOf(secret: string): string[] {
  const lines = secret.split('\n').map((line) => line.trim());
  const long = lines.filter((line) => line.length >= lineCharsMin);
  // Programs print values with quotes or several lines as JSON.
  const inJson = JSON.stringify(secret).slice(1, -1);
  // A value that the mask itself contains would be found again in what was masked.
  return [secret, inJson, ...long].filter((value) => value.length >= maskedCharsMin && !/^\*+$/.test(value));
}

export function createMasking(secrets: Iterable<string>): Masking {
  const hidden = new Set([...secrets].flatMap(valuesOf));
  let values = createSecretValues(hidden, mask);
  const text = (shown: string) => values.maskCut(shown);

  /** Masks the values of fields whose names are known, except for those that Parley writes itself. */
  function maskFields(value: object, own: ReadonlySet<string>): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [name, own.has(name) ? field : maskValue(field)]),
    );
  }

  function maskValue(value: unknown): unknown {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map(maskValue);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [text(name), maskValue(field)]));
  }

  function maskEvent(shown: NewEvent): NewEvent {
    const { args, extras, ...rest } = shown as Readonly<Record<string, unknown>>;
    const details = (value: unknown) =>
      typeof value === 'object' && value !== null ? maskFields(value, ownDetailFields) : maskValue(value);
    return {
      ...maskFields(rest, ownFields),
      ...(args === undefined ? {} : { args: details(args) }),
      ...(extras === undefined ? {} : { extras: details(extras) }),
    } as unknown as NewEvent;
  }

  return {
    hide: (...more) => {
      const added = more.flatMap(valuesOf).filter((value) => !hidden.has(value));
      if (added.length === 0) return;
      for (const value of added) hidden.add(value);
      values = createSecretValues(hidden, mask);
    },
    text,
    stream: () => createMaskedStream(() => values, mask),
    event: (shown) => (hidden.size === 0 ? shown : maskEvent(shown)),
  };
}
