// The format of credentials: `pk_<id>_<secret>` for an API key, `pt_<id>_<secret>` for a bearer token, `ps_<id>_<secret>`
// for a session of somebody who signed in, and `pc_<key id>_<conversation>_<mac>` for an API key that is limited to one
// conversation.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { KeyKind } from './schema.ts';

const idBytes = 8;
const secretBytes = 32;
const prefixes: Readonly<Record<KeyKind, string>> = { session: 'pk', bearer: 'pt' };
const format = /^p([kts])_([0-9a-f]{16})_[A-Za-z0-9_-]{43}$/;
/** In front of the ids of sessions, so that no session has the id of a key. */
const sessionPrefix = 's';

const conversationFormat = /^pc_([0-9a-z-]{1,64})_(.{1,768})_([A-Za-z0-9_-]{43})$/;

export interface ConversationCredential {
  /** The id of the API key that it was derived from. */
  readonly keyId: string;
  readonly conversationId: string;
  readonly mac: string;
}

/** Whether the text may be an API key for one conversation. */
export function isConversationCredential(text: string): boolean {
  return text.startsWith('pc_');
}

/** The id is encoded, because it may have characters that headers cannot carry. */
export function formatConversationCredential({ keyId, conversationId, mac }: ConversationCredential): string {
  return `pc_${keyId}_${encodeURIComponent(conversationId)}_${mac}`;
}

/** Undefined if the text has another format. */
export function parseConversationCredential(text: string): ConversationCredential | undefined {
  const [, keyId, encoded, mac] = conversationFormat.exec(text) ?? [];
  if (keyId === undefined || encoded === undefined || mac === undefined) return undefined;
  try {
    return { keyId, conversationId: decodeURIComponent(encoded), mac };
  } catch {
    return undefined;
  }
}

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

export function createSessionCredential(): Credential {
  const digits = randomBytes(idBytes).toString('hex');
  const text = `ps_${digits}_${randomBytes(secretBytes).toString('base64url')}`;
  return { id: sessionPrefix + digits, text, hash: hashCredential(text) };
}

export function isSessionId(text: string): boolean {
  return /^s[0-9a-f]{16}$/.test(text);
}

export function isKeyId(text: string): boolean {
  return /^[0-9a-f]{16}$/.test(text);
}

/** The id in a credential; undefined if the text has another format. */
export function credentialId(text: string): string | undefined {
  const [, letter, digits] = format.exec(text) ?? [];
  return digits !== undefined && letter === 's' ? sessionPrefix + digits : digits;
}

/** The hash as bytes, for comparison. */
export function hashBytes(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** Compares in constant time. */
export function sameHash(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
