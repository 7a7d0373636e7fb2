// Creates, lists and revokes credentials, and authenticates them.
import { AppError, invalid } from '../errors.ts';
import { type AuthenticationOptions, createAuthentication } from './authentication.ts';
import { isKeyId } from './credentials.ts';
import { chooseScopes, issueKey, toRecord } from './issue.ts';
import type { Principal } from './principal.ts';
import type { CreatedKey, KeyRecord, NewKey } from './schema.ts';
import { findKey, listKeys, revokeKey } from './store.ts';

export type Keys = ReturnType<typeof createKeys>;

function notFound(): AppError {
  return new AppError('not_found', 'This API key does not exist.');
}

export function createKeys(options: AuthenticationOptions) {
  const { database, onBackgroundError, now = Date.now } = options;
  const authentication = createAuthentication(options);
  const { flushUses, forget } = authentication;

  async function create(principal: Principal, request: NewKey): Promise<CreatedKey> {
    const kind = request.kind ?? 'session';
    if (request.bearer && kind === 'bearer')
      throw invalid([{ path: 'bearer', message: 'is only for API keys; a bearer token is always sent so' }]);
    const userName = request.user ?? principal.userName;
    if (userName !== principal.userName && !principal.scopes.has('admin'))
      throw new AppError('forbidden', 'Creating a key for another user requires a key with the scope admin.');
    const granted = chooseScopes(kind, request.scopes);
    const missing = granted.filter((scope) => !principal.scopes.has(scope));
    if (missing.length > 0)
      throw new AppError('forbidden', `Your key does not have ${missing.join(', ')} and cannot grant it.`);
    return issueKey(database, {
      by: principal.keyId,
      kind,
      // The user may have been renamed meanwhile.
      owner: userName === principal.userName ? { id: principal.userId } : { name: userName },
      name: request.name,
      scopes: granted,
      expiresAt: expiry(request, principal),
      bearer: request.bearer ?? false,
    });
  }

  /** No key expires later than the one that creates it. */
  function expiry({ expires_at }: NewKey, maker: Principal): number | null {
    const latest = Number.isFinite(maker.expiresAt) ? maker.expiresAt : null;
    if (expires_at === null || expires_at === undefined) return latest;
    const at = Date.parse(expires_at);
    const fault = (message: string) => invalid([{ path: 'expires_at', message }]);
    if (Number.isNaN(at)) throw fault('must be a time such as 2030-01-31T12:00:00Z');
    if (at <= now()) throw fault('must be in the future');
    if (latest !== null && at > latest) throw fault('must not be later than the expiry of your own key');
    return at;
  }

  async function list(principal: Principal): Promise<KeyRecord[]> {
    await flushUses().catch(onBackgroundError);
    return (await database.run(listKeys, { userId: principal.userId })).map(toRecord);
  }

  async function revoke(principal: Principal, id: string): Promise<KeyRecord> {
    if (!isKeyId(id)) throw notFound();
    const mine: { userId?: number } = principal.scopes.has('admin') ? {} : { userId: principal.userId };
    const key = await database.run(findKey, id);
    if (key === undefined || (mine.userId ?? key.user_id) !== key.user_id) throw notFound();
    if (toRecord(key).scopes.some((scope) => !principal.scopes.has(scope)))
      throw new AppError(
        'forbidden',
        'This key has scopes that your key does not have, so that you cannot revoke it.',
      );
    const row = await database.run(revokeKey, { id, by: principal.keyId, ...mine });
    if (row === undefined) throw notFound();
    forget(id);
    return toRecord(row);
  }

  return { ...authentication, create, list, revoke };
}
