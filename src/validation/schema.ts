// Building blocks of schemas: strings with a limit in bytes that any database can store, and nulls.
import Type, { type TSchema, type TUnsafe } from 'typebox';

export const kib = 1_024;
export const mib = 1_024 * kib;

/**
 * The schema keyword for the maximum length of a string in UTF-8 bytes. `maxLength` counts characters, and error
 * messages would then mix two units.
 */
export const bytesMaxKeyword = 'x-bytes-max';

/** For any request. */
export const bodyBytesMax = 16 * mib;

interface TextOptions {
  readonly bytesMax: number;
  readonly lengthMin?: number;
  readonly pattern?: string;
  /** The pattern as text, as the end of a sentence that begins with "must". */
  readonly patternText?: string;
  readonly format?: string;
  readonly description?: string;
}

const nul = String.fromCharCode(0);

/** Why a string cannot be stored; undefined if it can. */
export function textFault(value: string, bytesMax: number): string | undefined {
  if (value.length > bytesMax || Buffer.byteLength(value) > bytesMax)
    return `must be at most ${bytesMax} bytes`;
  if (value.includes(nul)) return 'must not contain NUL characters';
  if (!value.isWellFormed()) return 'must be well-formed Unicode without unpaired surrogates';
  return undefined;
}

function refine<Schema extends TSchema>(
  schema: Schema,
  fault: (value: string) => string | undefined,
): Schema {
  return Type.Refine(
    schema,
    (value) => typeof value !== 'string' || fault(value) === undefined,
    (value) => fault(String(value)) ?? 'is not valid',
  ) as unknown as Schema;
}

const patternTexts = new Map<string, string>();

/** The requirement of a pattern, for error messages. */
export function patternRule(pattern: string): string {
  return patternTexts.get(pattern) ?? `match ${pattern}`;
}

function textSchema<Value>(type: string | string[], options: TextOptions): TUnsafe<Value> {
  const { bytesMax, lengthMin, patternText, ...rest } = options;
  if (rest.pattern !== undefined && patternText !== undefined) patternTexts.set(rest.pattern, patternText);
  const schema = Type.Unsafe<Value>({
    type,
    ...(lengthMin === undefined ? {} : { minLength: lengthMin }),
    [bytesMaxKeyword]: bytesMax,
    ...rest,
  });
  return refine(schema, (value) => textFault(value, bytesMax));
}

export function text(options: TextOptions): TUnsafe<string> {
  return textSchema<string>('string', options);
}

export function nullableText(options: TextOptions): TUnsafe<string | null> {
  return textSchema<string | null>(['string', 'null'], options);
}

/** Adds a custom check to a string schema. It returns what is wrong, as the end of a sentence. */
export function checked<Schema extends TSchema>(
  schema: Schema,
  fault: (value: string) => string | undefined,
): Schema {
  return refine(schema, fault);
}

/** The schema or null. It must not have a custom check, which would be lost. */
export function orNull<Schema extends TSchema>(
  schema: Schema,
  options: object = {},
): TUnsafe<Type.Static<Schema> | null> {
  const { $id: _, type, ...rest } = schema as TSchema & { $id?: string; type?: string };
  return Type.Unsafe<Type.Static<Schema> | null>({ type: [type, 'null'], ...rest, ...options });
}

export function oneOf<const Value extends string>(
  values: readonly Value[],
  options: object = {},
): TUnsafe<Value> {
  return Type.Unsafe<Value>({ type: 'string', enum: [...values], ...options });
}

export function nullableOneOf<const Value extends string>(
  values: readonly Value[],
  options: object = {},
): TUnsafe<Value | null> {
  return Type.Unsafe<Value | null>({ type: ['string', 'null'], enum: [...values, null], ...options });
}

/** A read-only field with a time in ISO 8601. */
export function time(options: object = {}) {
  return Type.Unsafe<string>({ type: 'string', format: 'date-time', ...options });
}

/** A number from 1 to `max` in a text; undefined if it is not valid. */
export function wholeNumber(text: string, max: number): number | undefined {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return number >= 1 && number <= max ? number : undefined;
}

const yes = new Set(['true', '1', 'yes', 'on']);

const flagPattern = '^([Tt]rue|TRUE|1|[Yy]es|on|[Ff]alse|FALSE|0|[Nn]o|off)$';
patternTexts.set(flagPattern, 'be true or false');

/** A boolean in a query, in any of the forms that clients send. */
export function flag(description: string) {
  return Type.String({ pattern: flagPattern, description });
}

export function isTrue(value: string | undefined): boolean {
  return yes.has((value ?? '').toLowerCase());
}
