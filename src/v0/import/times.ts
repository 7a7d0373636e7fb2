// Times of a V0 server. It wrote local times without a zone; its images run in UTC, so such a time is read as UTC.

const withoutZone = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?$/;

/** The time with its zone; undefined if it is none. */
export function toTimestamp(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 40) return undefined;
  const text = withoutZone.test(value) ? `${value.replace(' ', 'T')}Z` : value;
  return Number.isNaN(Date.parse(text)) ? undefined : text;
}

/** Milliseconds since 1970; undefined if it is no time between 1970 and `nowMs`. */
export function toMs(value: unknown, nowMs: number): number | undefined {
  const text = toTimestamp(value);
  const ms = text === undefined ? -1 : Date.parse(text);
  return ms >= 0 && ms <= nowMs ? ms : undefined;
}
