// Binds a sign-in to the tab that began it, without storing anything: whoever can send requests can begin any number.
// `state` is signed; nonce and PKCE verifier follow from it with a key that only the service has.
import { hash, randomBytes } from 'node:crypto';
import type { Vault } from '../encryption/vault.ts';
import { sameHash } from '../keys/credentials.ts';
import type { RequestSecrets } from './provider.ts';

const secretBytes = 32;
/** How long somebody may take at the provider. */
export const signInMs = 15 * 60_000;

const format = /^([A-Za-z0-9_-]{43})\.(\d{1,15})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})$/;

export interface BegunSignIn {
  /** Only the tab that began has it. */
  readonly tabSecret: string;
  readonly secrets: RequestSecrets;
}

export interface ReturnedSignIn {
  /** Identifies the sign-in, and tells nothing else about it. */
  readonly id: string;
  readonly secrets: RequestSecrets;
}

const random = () => randomBytes(secretBytes).toString('base64url');
const digest = (text: string) => hash('sha256', text, 'base64url');
const isSame = (a: string, b: string) => sameHash(Buffer.from(a), Buffer.from(b));

export function createSignInStates(vault: Pick<Vault, 'mac'>, now: () => number) {
  function secretsOf(seed: string, state: string): RequestSecrets {
    return {
      state,
      nonce: vault.mac('sign-in-nonce', seed),
      codeVerifier: vault.mac('sign-in-verifier', seed),
    };
  }

  function begin(): BegunSignIn {
    const [seed, tabSecret] = [random(), random()];
    const signed = `${seed}.${now() + signInMs}.${digest(tabSecret)}`;
    const state = `${signed}.${vault.mac('sign-in-state', signed)}`;
    return { tabSecret, secrets: secretsOf(seed, state) };
  }

  /** Undefined if the state is forged or expired, or if it began in another tab. */
  function verify(state: string, tabSecret: string): ReturnedSignIn | undefined {
    const [, seed = '', until = '', tab = '', mac = ''] = format.exec(state) ?? [];
    const isOurs = isSame(mac, vault.mac('sign-in-state', `${seed}.${until}.${tab}`));
    if (!isOurs || Number(until) <= now() || !isSame(tab, digest(tabSecret))) return undefined;
    return { id: digest(seed), secrets: secretsOf(seed, state) };
  }

  return { begin, verify };
}
