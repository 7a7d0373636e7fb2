// What a route requires of its caller. Every route must declare it; the server refuses to register one that does not.
import type { ServerResponse } from 'node:http';
import type { AppError } from '../errors.ts';
import type { Principal } from '../keys/principal.ts';
import type { Scope } from '../keys/schema.ts';

export type Access =
  | { readonly public: true }
  | {
      readonly public: false;
      /** Undefined if any valid key is enough. */
      readonly scope: Scope | undefined;
      /** A bearer token is accepted as well; otherwise only X-Session-API-Key is read. */
      readonly bearer: boolean;
      /** The handler decides what a caller over its rate may still do, because a safe retry must pass. */
      readonly limitedByHandler: boolean;
    };

export const open: Access = { public: true };

export function needs(
  scope: Scope,
  { bearer = false, limitedByHandler = false }: { bearer?: boolean; limitedByHandler?: boolean } = {},
): Access {
  return { public: false, scope, bearer, limitedByHandler };
}

/** Any valid API key is accepted, whatever its scopes. */
export const needsKey: Access = { public: false, scope: undefined, bearer: false, limitedByHandler: false };

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest {
    principal: Principal;
    /** Another process has checked this request and passed it on. */
    isPassedOn: boolean;
    /** The machine that has the workspace is gone, but there is a snapshot. */
    isNodeGone: boolean;
    /** The error for a caller over the rate limit, if the handler decides. */
    overRate: AppError | undefined;
    /** For work that must last until the response is sent. */
    response: ServerResponse;
  }
}
