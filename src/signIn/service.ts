// Signs people in with an OpenID Connect provider. A session begins when the tab that began the sign-in brings the answer
// of the provider back; its token is in that response alone.
import { randomBytes } from 'node:crypto';
import type { Database } from '../db/transaction.ts';
import type { Vault } from '../encryption/vault.ts';
import { AppError } from '../errors.ts';
import { createSessionCredential } from '../keys/credentials.ts';
import {
  type AccessRules,
  type Claims,
  emailOf,
  isAdministrator,
  maySignIn,
  nameOf,
  normalizeIssuer,
  userNamesFor,
} from './claims.ts';
import type { Provider } from './provider.ts';
import { failedSignIn } from './providerErrors.ts';
import type { SignedIn, SignInAnswer, SignInProvider, StartedSignIn } from './schema.ts';
import { createSignInStates } from './state.ts';
import { createSession, type SignInFault } from './store.ts';

const subjectMax = 255;
const browserMax = 200;
const idBytes = 8;

interface SignInLog {
  info(what: object, message: string): void;
  warn(what: object, message: string): void;
}

export interface SignInOptions {
  readonly database: Database;
  readonly vault: Pick<Vault, 'mac'>;
  readonly provider: Provider;
  readonly name: string;
  /** The URL of the web UI; tabs of other origins could not bring the answer back. */
  readonly publicUrl: string;
  readonly rules: AccessRules;
  readonly createsUsers: boolean;
  readonly idleMs: number;
  readonly lastsMs: number;
  readonly log: SignInLog;
  readonly now?: () => number;
}

export type SignIn = ReturnType<typeof createSignIn>;

function refused(message: string): AppError {
  return new AppError('sign_in_refused', message);
}

const faults: Readonly<Record<SignInFault, (subject: string) => AppError>> = {
  used: () => failedSignIn(),
  inactive: () => refused('Your user is disabled. Ask an administrator.'),
  unknown: (subject) =>
    refused(
      `Your account is not linked to a user of this service. Ask an administrator to link it; its subject is ${subject}.`,
    ),
};

export function randomId(): string {
  return randomBytes(idBytes).toString('hex');
}

/** As one line, because it is shown in the list of sessions. */
function browserLine(userAgent: string | undefined): string {
  return (userAgent ?? '').replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, browserMax);
}

export function createSignIn(options: SignInOptions) {
  const { database, provider, rules, log, now = Date.now } = options;
  const states = createSignInStates(options.vault, now);

  async function begin(): Promise<StartedSignIn> {
    const { tabSecret, secrets } = states.begin();
    return { authorization_url: await provider.authorizationUrl(secrets), secret: tabSecret };
  }

  async function createFor(claims: Claims, signIn: string, userAgent: string | undefined): Promise<SignedIn> {
    const credential = createSessionCredential();
    const created = await database.run(createSession, {
      issuer: normalizeIssuer(claims.iss),
      subject: claims.sub,
      name: nameOf(claims),
      email: emailOf(claims),
      identityId: randomId(),
      userNames: options.createsUsers ? userNamesFor(claims, rules, randomId()) : [],
      isAdmin: isAdministrator(claims, rules),
      signIn,
      sessionId: credential.id,
      hash: credential.hash,
      browser: browserLine(userAgent),
      at: now(),
      idleMs: options.idleMs,
      lastsMs: options.lastsMs,
    });
    if (typeof created === 'string') {
      log.warn({ subject: claims.sub, why: created }, 'sign-in refused');
      throw faults[created](claims.sub);
    }
    log.info({ user: created.user, session: credential.id }, 'signed in');
    return { token: credential.text, user: created.user, ends_at: new Date(created.endsAt).toISOString() };
  }

  /** Throws `sign_in_failed`, `sign_in_cancelled`, `sign_in_refused` or `sign_in_provider_failed`. */
  async function finish({ secret, query }: SignInAnswer, userAgent: string | undefined): Promise<SignedIn> {
    const begun = states.verify(new URLSearchParams(query).get('state') ?? '', secret);
    if (begun === undefined) throw failedSignIn();
    const claims = await exchange(query, begun.secrets);
    if (!maySignIn(claims, rules)) {
      log.warn({ subject: claims.sub, why: 'rules' }, 'sign-in refused');
      throw refused('Your account may not sign in here. Ask an administrator.');
    }
    return createFor(claims, begun.id, userAgent);
  }

  async function exchange(query: string, secrets: Parameters<Provider['exchange']>[1]): Promise<Claims> {
    try {
      const claims = await provider.exchange(query, secrets);
      if (claims.sub.length <= subjectMax && /^[\x20-\x7e]+$/.test(claims.sub)) return claims;
      throw refused('The subject of your account is not valid.');
    } catch (error) {
      // The cause may contain what the provider sent, so only its code is logged.
      const { code, cause } = error as AppError;
      const { code: reason, error: answer } = (cause ?? {}) as { code?: unknown; error?: unknown };
      log.warn({ code, reason: String(reason ?? ''), answer: String(answer ?? '') }, 'sign-in failed');
      throw error;
    }
  }

  return {
    describe: (): SignInProvider => ({ provider: { name: options.name, url: options.publicUrl } }),
    begin,
    finish,
  };
}
