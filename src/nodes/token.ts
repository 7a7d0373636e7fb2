// The credential with which one process passes a request on to another: who sent it, for one URL, for a short time.
import { timingSafeEqual } from 'node:crypto';
import type { Vault } from '../encryption/vault.ts';
import type { Principal } from '../keys/principal.ts';
import type { KeyKind, Scope } from '../keys/schema.ts';

export const nodeTokenHeader = 'x-parley-node';
/** Also the largest difference between the clocks of two machines. */
const validMs = 5 * 60_000;
const purpose = 'node-token';

export interface PassedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly requestId: string;
  readonly principal: Principal;
}

interface Payload {
  readonly method: string;
  readonly url: string;
  readonly requestId: string;
  readonly at: number;
  readonly userId: number;
  readonly userName: string;
  readonly keyId: string;
  readonly keyName: string;
  readonly via: KeyKind;
  readonly scopes: readonly Scope[];
  readonly acceptsBearer: boolean;
  readonly conversationId?: string;
  /** Null means never. */
  readonly expiresAt: number | null;
}

export function signNodeToken(
  vault: Pick<Vault, 'mac'>,
  { principal, ...request }: PassedRequest,
  now = Date.now(),
): string {
  const { expiresAt } = principal;
  const payload: Payload = {
    ...principal,
    ...request,
    at: now,
    scopes: [...principal.scopes],
    expiresAt: Number.isFinite(expiresAt) ? expiresAt : null,
  };
  const text = Buffer.from(JSON.stringify(payload)).toString('base64url');
  return `${text}.${vault.mac(purpose, text)}`;
}

/** Undefined unless a process of this database has signed the token for this request, a short time ago. */
export function verifyNodeToken(
  vault: Pick<Vault, 'mac'>,
  token: string,
  request: Pick<PassedRequest, 'method' | 'url'>,
  now = Date.now(),
): Pick<PassedRequest, 'requestId' | 'principal'> | undefined {
  const [text = '', given = ''] = token.split('.');
  const expected = Buffer.from(vault.mac(purpose, text));
  const sent = Buffer.from(given);
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) return undefined;
  const { at, method, url, requestId, scopes, expiresAt, ...rest } = JSON.parse(
    Buffer.from(text, 'base64url').toString(),
  ) as Payload;
  if (Math.abs(now - at) > validMs || method !== request.method || url !== request.url) return undefined;
  const principal = {
    ...rest,
    scopes: new Set(scopes),
    expiresAt: expiresAt ?? Number.POSITIVE_INFINITY,
  };
  return { requestId, principal };
}
