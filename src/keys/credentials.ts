// The format of credentials: `pk_<id>_<secret>` for an API key, `pt_<id>_<secret>` for a bearer token.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { KeyKind } from './schema.ts';

const idBytes = 8;
const secretBytes = 32;
const prefixes: Readonly<Record<KeyKind, string>> = { session: 'pk', bearer: 'pt' };
const format = /^p[kt]_([0-9a-f]{16})_[A-Za-z0-9_-]{43}$/;

export interface Credential {
  readonly id: string;
  readonly text: string;
  readonly hash: string;
}

export function hashCredential(text: string): string {
  return hash('sha256', text, 'hex');
}

export function createCredential(kind: KeyKind): Credential {
  const id = randomBytes(idBytes).toString('hex');
  const text = `${prefixes[kind]}_${id}_${randomBytes(secretBytes).toString('base64url')}`;
  return { id, text, hash: hashCredential(text) };
}

export function isKeyId(text: string): boolean {
  return /^[0-9a-f]{16}$/.test(text);
}

/** The id in a credential; undefined if the text has another format. */
export function credentialId(text: string): string | undefined {
  return format.exec(text)?.[1];
}

/** The hash as bytes, for comparison. */
export function hashBytes(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** Compares in constant time. */
export function sameHash(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
