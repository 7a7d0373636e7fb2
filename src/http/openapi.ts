// Generates the OpenAPI 3.1 document from the declared routes. Its schemas are those that validate requests.
import { STATUS_CODES } from 'node:http';
import type { TSchema } from 'typebox';
import type { ErrorCode } from '../errors.ts';
import { bytesMaxKeyword } from '../validation/schema.ts';
import type { Access } from './access.ts';
import { ErrorBody, statuses } from './errors.ts';
import type { DeclaredRoute } from './routeTable.ts';

type Json = Record<string, unknown>;

/** The field of an operation with the scope that a key or token needs for it. */
export const scopeExtension = 'x-required-scope';

export interface OpenApi {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly contact?: { readonly name: string };
    readonly license?: { readonly name: string; readonly identifier: string };
  };
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: { readonly schemas: Json; readonly securitySchemes: Json };
}

const tags = [
  { name: 'Settings', description: 'The settings of a user.' },
  { name: 'Conversations', description: 'Create and control conversations with agents.' },
  {
    name: 'Secrets',
    description:
      'Custom secrets and access tokens of Git providers. They are stored encrypted and never shown.',
  },
  {
    name: 'Repositories',
    description: 'What your access tokens can see at Git providers.',
  },
  { name: 'Options', description: 'Values that clients can offer in forms.' },
  {
    name: 'Events',
    description: 'The events of a conversation, in pages or as a stream.',
  },
  { name: 'Workspaces', description: 'The files that an agent works on.' },
  { name: 'Keys', description: 'Create and revoke API keys.' },
  { name: 'Sign-in', description: 'Sessions of people who sign in with an OpenID Connect provider.' },
  { name: 'Users', description: 'Create, disable and remove users.' },
  { name: 'Webhooks', description: 'Signed requests to your own server.' },
  { name: 'Service', description: 'Health checks and server information. No API key is required.' },
];

const securitySchemes = {
  session_key: { type: 'apiKey', in: 'header', name: 'X-Session-API-Key', description: 'An API key.' },
  bearer_token: {
    type: 'http',
    scheme: 'bearer',
    description: 'A bearer token. It can only read the reduced settings.',
  },
};

const alwaysPossible: readonly ErrorCode[] = [
  'malformed_request',
  'host_not_allowed',
  'origin_not_allowed',
  'request_timeout',
  'headers_too_large',
  'internal',
];
const behindKey: readonly ErrorCode[] = ['unauthorized', 'forbidden', 'rate_limited', 'database_unavailable'];
const withBody: readonly ErrorCode[] = [
  'malformed_json',
  'body_too_large',
  'unsupported_media_type',
  'invalid',
  'overloaded',
];

/** Schemas with an `$id` become components, the rest stays in place. */
function createComponents() {
  const schemas: Json = {};

  function place(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(place);
    if (typeof value !== 'object' || value === null) return value;
    const { $id, ...rest } = value as Json & { $id?: string };
    const placed = Object.fromEntries(Object.entries(rest).map(([name, inner]) => [name, place(inner)]));
    // Client generators know `maxLength` but not our keyword, and a string never has more characters than bytes.
    if (placed[bytesMaxKeyword] !== undefined) placed['maxLength'] = placed[bytesMaxKeyword];
    if ($id === undefined) return placed;
    schemas[$id] = placed;
    return { $ref: `#/components/schemas/${$id}` };
  }

  return { schemas, place: (schema: unknown) => place(schema) as Json };
}

function examplesOf(examples: Readonly<Record<string, unknown>> | undefined): Json {
  if (examples === undefined) return {};
  const named = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return { examples: Object.fromEntries(named) };
}

/** Names the scope beside the schemes, because linters know scopes of OAuth alone within them. */
function security(access: Access): Json {
  if (access.public) return { security: [] };
  const session = { session_key: [] };
  return {
    security: access.bearer ? [session, { bearer_token: [] }] : [session],
    ...(access.scope === undefined ? {} : { [scopeExtension]: access.scope }),
  };
}

function errorResponses(route: DeclaredRoute, error: Json): Json {
  const codes = [
    ...alwaysPossible,
    ...(route.access.public ? [] : behindKey),
    ...(route.access.public || route.method === 'GET' ? [] : (['outcome_unknown'] as const)),
    ...(route.schema.body === undefined ? [] : withBody),
    ...(route.schema.params === undefined ? [] : (['not_found', 'invalid'] as const)),
    ...(route.schema.querystring === undefined ? [] : (['invalid'] as const)),
    ...(route.document.errors ?? []),
  ];
  const byStatus = Map.groupBy(new Set(codes), (code) => statuses[code].status);
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, group]) => [
        status,
        {
          description: group.map((code) => `\`${code}\`: ${statuses[code].when}`).join('; '),
          content: { 'application/json': { schema: error } },
        },
      ]),
  );
}

function parameters({ schema, document }: DeclaredRoute, place: (schema: unknown) => Json): Json[] {
  const places = [
    ['path', schema.params],
    ['query', schema.querystring],
    ['header', schema.headers ?? document.headers],
  ] as const;
  return places.flatMap(([where, object]) => {
    const { properties = {}, required = [] } = (object ?? {}) as { properties?: Json; required?: string[] };
    return Object.entries(properties).map(([name, field]) => ({
      name,
      in: where,
      required: where === 'path' || required.includes(name),
      schema: place(field),
    }));
  });
}

function okResponses({ schema, document }: DeclaredRoute, place: (schema: unknown) => Json): Json {
  const declared = Object.entries((schema.response ?? {}) as Record<string, TSchema>).map(
    ([status, body]) => [
      status,
      {
        description: STATUS_CODES[status] ?? 'Success',
        content: { 'application/json': { schema: place(body), ...examplesOf(document.responseExamples) } },
      },
    ],
  );
  const documented = Object.entries(document.responses ?? {}).map(
    ([status, { description, anyOf, examples, mediaType = 'application/json' }]) => {
      const bodies = anyOf.map(place);
      const body = bodies.length > 1 ? { anyOf: bodies } : bodies[0];
      const content = body && { content: { [mediaType]: { schema: body, ...examplesOf(examples) } } };
      return [status, { description, ...content }];
    },
  );
  return Object.fromEntries([...declared, ...documented]);
}

function uploadBody(field: string): Json {
  const files = { type: 'array', items: { type: 'string', format: 'binary' }, minItems: 1 };
  const schema = { type: 'object', properties: { [field]: files }, required: [field] };
  return { required: true, content: { 'multipart/form-data': { schema } } };
}

function operation(route: DeclaredRoute, place: (schema: unknown) => Json): Json {
  const { schema, document } = route;
  const found = parameters(route, place);
  const upload = document.fileField && { requestBody: uploadBody(document.fileField) };
  const body = schema.body && {
    requestBody: {
      required: ((schema.body as { required?: string[] }).required ?? []).length > 0,
      content: {
        'application/json': { schema: place(schema.body), ...examplesOf(document.requestExamples) },
      },
    },
  };
  return {
    tags: schema.tags ?? [],
    operationId: schema.operationId ?? '',
    summary: schema.summary ?? '',
    ...(schema.description === undefined ? {} : { description: schema.description }),
    ...security(route.access),
    ...(found.length === 0 ? {} : { parameters: found }),
    ...(body ?? upload ?? {}),
    responses: { ...okResponses(route, place), ...errorResponses(route, place(ErrorBody)) },
  };
}

export function createOpenApi(routes: readonly DeclaredRoute[], version: string): OpenApi {
  const { schemas, place } = createComponents();
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    // Fastify adds HEAD to every GET by itself.
    if (route.method === 'HEAD' || route.schema.hide) continue;
    const path = route.url.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, place) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Parley',
      version,
      description:
        'Parley runs coding agents: this API manages settings, conversations, events, workspaces and webhooks.',
      contact: { name: 'The operator of this service' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Relative URLs work, because the service itself serves this document.
    servers: [{ url: '/', description: 'The server that returned this document.' }],
    tags,
    paths,
    components: { schemas, securitySchemes },
  };
}
