// Authenticates a request by its headers. The response is the same whatever is wrong with a credential.
import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../errors.ts';
import type { Principal } from '../keys/principal.ts';
import type { KeyKind, Scope } from '../keys/schema.ts';

export type Authenticate = (
  text: string,
  via: KeyKind,
) => Principal | undefined | Promise<Principal | undefined>;

/** The sender of requests without a credential; undefined if they are refused. */
export type AuthenticateAnonymous = () => Principal | undefined | Promise<Principal | undefined>;

interface Wanted {
  readonly authenticateAnonymous: AuthenticateAnonymous;
  readonly scope: Scope | undefined;
  readonly bearer: boolean;
  readonly acceptBearer: boolean;
}

type Done = (error: Error | undefined, principal?: Principal) => void;

const credentialMax = 1_024;

const sessionChallenge = 'X-Session-API-Key realm="parley"';

const unauthorized = {
  session: new AppError('unauthorized', 'A valid API key is required: send it as X-Session-API-Key.', {
    headers: { 'www-authenticate': sessionChallenge },
  }),
  either: new AppError(
    'unauthorized',
    'A valid API key is required: send it as X-Session-API-Key, or a bearer token as Authorization: Bearer.',
    { headers: { 'www-authenticate': `${sessionChallenge}, Bearer realm="parley"` } },
  ),
};

/** Whether a request carries any credential. */
export function carriesCredential(headers: IncomingHttpHeaders): boolean {
  return headers['x-session-api-key'] !== undefined || headers.authorization !== undefined;
}

export interface SentCredential {
  readonly text: string;
  readonly via: KeyKind;
}

function readCredential(headers: IncomingHttpHeaders): SentCredential | undefined {
  const session = headers['x-session-api-key'];
  if (session !== undefined) return { text: String(session), via: 'session' };
  const [, token] = /^Bearer +([^\s]+) *$/i.exec(headers.authorization ?? '') ?? [];
  return token === undefined ? undefined : { text: token, via: 'bearer' };
}

/** `X-Session-API-Key` takes precedence. Returns undefined if there is no credential that could be valid. */
export function sentCredential(headers: IncomingHttpHeaders): SentCredential | undefined {
  const sent = readCredential(headers);
  return sent !== undefined && sent.text.length <= credentialMax ? sent : undefined;
}

/** Created once per route. It calls back synchronously if the credential is cached. */
export function createAuthentication(authenticate: Authenticate, wanted: Wanted) {
  const bearerCounts = wanted.bearer || wanted.acceptBearer;
  const refused = bearerCounts ? unauthorized.either : unauthorized.session;
  const isAccepted = ({ via, acceptsBearer }: Principal) =>
    via === 'session' || bearerCounts || acceptsBearer;
  const lacksScope = new AppError(
    'forbidden',
    `This request requires an API key with the scope ${wanted.scope}.`,
  );

  function decide(principal: Principal | undefined, done: Done): void {
    if (principal === undefined || !isAccepted(principal)) done(refused);
    else if (wanted.scope !== undefined && !principal.scopes.has(wanted.scope)) done(lacksScope);
    else done(undefined, principal);
  }

  return (headers: IncomingHttpHeaders, done: Done): void => {
    const sent = sentCredential(headers);
    const anonymous = () => (carriesCredential(headers) ? undefined : wanted.authenticateAnonymous());
    const found = sent === undefined ? anonymous() : authenticate(sent.text, sent.via);
    if (found instanceof Promise) found.then((principal) => decide(principal, done), done);
    else decide(found, done);
  };
}
