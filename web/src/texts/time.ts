// Formats times, amounts and counts in the language of the user.

const steps = [
  { unit: 'minute', ms: 60_000, upTo: 3_600_000 },
  { unit: 'hour', ms: 3_600_000, upTo: 86_400_000 },
  { unit: 'day', ms: 86_400_000, upTo: 7 * 86_400_000 },
] as const;

/** Such as "5 minutes ago", or the date after a week. `now` is the text for the last minute. */
export function agoText(iso: string, language: string, now: string): string {
  const at = Date.parse(iso);
  const passedMs = Date.now() - at;
  if (Number.isNaN(at)) return '';
  if (passedMs < 60_000) return now;
  for (const { unit, ms, upTo } of steps)
    if (passedMs < upTo)
      return new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(
        -Math.floor(passedMs / ms),
        unit,
      );
  return new Intl.DateTimeFormat(language, { dateStyle: 'medium' }).format(at);
}

/** Such as "5 min" or "3 hr", or the date after a week. */
export function shortAgoText(iso: string, language: string, now: string): string {
  const at = Date.parse(iso);
  const passedMs = Date.now() - at;
  if (Number.isNaN(at)) return '';
  if (passedMs < 60_000) return now;
  for (const { unit, ms, upTo } of steps)
    if (passedMs < upTo)
      return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short' }).format(
        Math.floor(passedMs / ms),
      );
  return new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short' }).format(at);
}

const clocks = new Map<string, Intl.DateTimeFormat>();

function clockFor(language: string): Intl.DateTimeFormat {
  const known = clocks.get(language) ?? new Intl.DateTimeFormat(language, { timeStyle: 'short' });
  clocks.set(language, known);
  return known;
}

export function clockText(iso: string | undefined, language: string): string {
  const at = Date.parse(iso ?? '');
  return Number.isNaN(at) ? '' : clockFor(language).format(at);
}

export function fullText(iso: string | undefined, language: string): string {
  const at = Date.parse(iso ?? '');
  if (Number.isNaN(at)) return '';
  return new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium' }).format(at);
}

export function dollarText(usd: number, language: string): string {
  const digits = usd > 0 && usd < 0.1 ? 4 : 2;
  return new Intl.NumberFormat(language, {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(usd);
}

export function countText(count: number, language: string): string {
  return new Intl.NumberFormat(language, { notation: count >= 10_000 ? 'compact' : 'standard' }).format(
    count,
  );
}

/** Such as "1:05". A start in the future counts as now, because clocks differ. */
export function durationText(since: string | undefined, now: number): string {
  const at = Date.parse(since ?? '');
  if (Number.isNaN(at)) return '';
  const seconds = Math.max(0, Math.floor((now - at) / 1_000));
  const minutes = Math.floor(seconds / 60);
  const two = (value: number) => String(value).padStart(2, '0');
  const rest = two(seconds % 60);
  return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${rest}`;
}
