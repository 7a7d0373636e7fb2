// A short name for what a browser calls itself, so that users recognize their sessions.

const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg\w*\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\b(?:Headless)?Chrom(?:e|ium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const systems: readonly (readonly [RegExp, string])[] = [
  [/\bWindows\b/, 'Windows'],
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

function nameIn(names: typeof browsers, text: string): string | undefined {
  return names.find(([pattern]) => pattern.test(text))?.[1];
}

/** Such as `Firefox, Linux`; the text itself if it is another program; undefined if it is empty. */
export function browserName(userAgent: string): string | undefined {
  const known = [nameIn(browsers, userAgent), nameIn(systems, userAgent)].filter(
    (name) => name !== undefined,
  );
  if (known.length > 0) return known.join(', ');
  return userAgent === '' ? undefined : userAgent;
}
