// What the provider says about somebody, and what follows: whether they may sign in, whether they are an administrator,
// and what a new user is called.

export interface Claims extends Readonly<Record<string, unknown>> {
  readonly iss: string;
  readonly sub: string;
}

const textMax = 256;
const groupsMax = 10_000;
const userNameMax = 64;
const namesTriedMax = 20;

export interface AccessRules {
  readonly userClaim: string;
  /** `*` means every address, also none. */
  readonly emailDomains: readonly string[];
  readonly groups: readonly string[];
  readonly groupsClaim: string;
  readonly adminGroups: readonly string[];
  readonly adminEmails: readonly string[];
}

/** Issuers that differ only in a final slash are the same one. */
export function normalizeIssuer(issuer: string): string {
  return (URL.parse(issuer)?.href ?? issuer).replace(/\/$/, '');
}

type SomeClaims = Readonly<Record<string, unknown>>;

/** Both from the same source: one that vouches for its address, if there is such a source. */
function emailClaimsOf(sources: readonly SomeClaims[]): SomeClaims {
  const withEmail = sources.filter(({ email }) => email !== undefined);
  const source = withEmail.find(({ email_verified }) => email_verified !== undefined) ?? withEmail[0];
  return { email: source?.['email'], email_verified: source?.['email_verified'] };
}

/** The ID token is signed, so its claims take precedence. */
export function mergeClaims(idToken: Claims, userInfo: SomeClaims): Claims {
  return { ...userInfo, ...idToken, ...emailClaimsOf([idToken, userInfo]) };
}

/** A text that can be stored and shown in one line; undefined if the claim is missing or another value. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value
    .toWellFormed()
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim();
  return text === '' ? undefined : text.slice(0, textMax).toWellFormed();
}

export function nameOf(claims: Claims): string | null {
  return textOf(claims['name']) ?? null;
}

export function emailOf(claims: Claims): string | null {
  return textOf(claims['email']) ?? null;
}

/** An address that the provider has not verified proves nothing: at some providers, anybody can enter any address. */
function verifiedEmailOf(claims: Claims): string | undefined {
  const verified = claims['email_verified'];
  // Some providers send it as text.
  return verified === true || verified === 'true' ? textOf(claims['email'])?.toLowerCase() : undefined;
}

function groupsOf(claims: Claims, claim: string): ReadonlySet<unknown> {
  const value = claims[claim];
  return new Set(Array.isArray(value) ? value.slice(0, groupsMax) : [value]);
}

function isInDomains(claims: Claims, domains: readonly string[]): boolean {
  if (domains.length === 0 || domains.includes('*')) return true;
  const [, domain] = /^[^@]+@([^@]+)$/.exec(verifiedEmailOf(claims) ?? '') ?? [];
  return domain !== undefined && domains.includes(domain);
}

/** Whether they pass every rule that the operator has set. */
export function maySignIn(claims: Claims, { emailDomains, groups, groupsClaim }: AccessRules): boolean {
  const own = groupsOf(claims, groupsClaim);
  return isInDomains(claims, emailDomains) && (groups.length === 0 || groups.some((group) => own.has(group)));
}

export function isAdministrator(claims: Claims, rules: AccessRules): boolean {
  const { adminGroups, adminEmails, groupsClaim } = rules;
  const own = groupsOf(claims, groupsClaim);
  const email = verifiedEmailOf(claims);
  return adminGroups.some((group) => own.has(group)) || (email !== undefined && adminEmails.includes(email));
}

/**
 * Names for a new user, the first free one of which is taken. A name that exists is never shared: whoever chose it at the
 * provider need not be the same person. `unique` makes the last one free in all probability.
 */
export function userNamesFor(claims: Claims, { userClaim }: AccessRules, unique: string): readonly string[] {
  const wanted = textOf(claims[userClaim]) ?? textOf(claims['email']) ?? textOf(claims['name']) ?? '';
  const name = wanted
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9._@-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, userNameMax)
    .replace(/-+$/, '');
  const base = name === '' ? 'user' : name;
  const numbered = Array.from({ length: namesTriedMax - 1 }, (_, i) => `${base}-${i + 2}`);
  return [base, ...numbered, `${base}-${unique}`];
}
