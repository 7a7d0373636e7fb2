// GET /openapi.json and the API docs at /docs, both generated once from the declared routes.
import { hash } from 'node:crypto';
import { open } from '../access.ts';
import { jsonType } from '../errors.ts';
import { createOpenApi } from '../openapi.ts';
import type { DeclaredRoute, Server } from '../routeTable.ts';
import { renderReference } from './page.ts';
import { referenceStyle } from './style.ts';

interface ReferenceOptions {
  readonly version: string;
  /** The public URL of the service, for examples. */
  readonly address: () => string;
}

export function referenceRoutes(
  app: Server,
  routes: readonly DeclaredRoute[],
  { version, address }: ReferenceOptions,
): void {
  let made: { json: Buffer; page: Buffer } | undefined;

  function documents() {
    if (made === undefined) {
      const openapi = createOpenApi(routes, version);
      made = {
        json: Buffer.from(`${JSON.stringify(openapi, null, 2)}\n`),
        page: Buffer.from(renderReference(openapi, address())),
      };
    }
    return made;
  }

  const styleHash = hash('sha256', referenceStyle, 'base64');
  const contentSecurityPolicy = `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'`;

  app.get(
    '/openapi.json',
    {
      config: { access: open },
      schema: { tags: ['Service'], summary: 'This description, as OpenAPI 3.1', hide: true },
    },
    (_request, reply) => reply.type(jsonType).send(documents().json),
  );

  app.get(
    '/docs',
    { config: { access: open }, schema: { tags: ['Service'], summary: 'The reference to read', hide: true } },
    (_request, reply) =>
      reply
        .type('text/html; charset=utf-8')
        .header('content-security-policy', contentSecurityPolicy)
        .send(documents().page),
  );
}
