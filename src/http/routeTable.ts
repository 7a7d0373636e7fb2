// Collects every declared route, adds its access check, and knows which methods a path supports.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifySchema,
  onRequestHookHandler,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { TSchema } from 'typebox';
import type { ErrorCode } from '../errors.ts';
import type { Access } from './access.ts';

/** The server that routes are declared on: its validation and types come from TypeBox schemas. */
export type Server = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

export interface DocumentedResponse {
  readonly description: string;
  readonly anyOf: readonly TSchema[];
  /** Set if the response is not JSON. */
  readonly mediaType?: string;
  readonly examples?: Readonly<Record<string, unknown>>;
}

/** What the API docs show of a route in addition to its schemas. */
export interface RouteDocument {
  readonly requestExamples?: Readonly<Record<string, unknown>>;
  readonly responseExamples?: Readonly<Record<string, unknown>>;
  /** The body is multipart/form-data with files in this field, which the handler reads itself. */
  readonly fileField?: string;
  /** Headers that the handler reads itself. */
  readonly headers?: TSchema;
  /** Errors that only this route returns; common errors are added for every route. */
  readonly errors?: readonly ErrorCode[];
  /** For responses that are sent as ready bytes, without a Fastify schema. */
  readonly responses?: Readonly<Record<number, DocumentedResponse>>;
}

declare module 'fastify' {
  interface FastifySchema {
    tags?: readonly string[];
    /** The name in generated clients. */
    operationId?: string;
    summary?: string;
    description?: string;
    /** Hides it in the API docs. */
    hide?: boolean;
  }
  interface FastifyContextConfig {
    document?: RouteDocument;
  }
}

export interface DeclaredRoute {
  readonly method: string;
  readonly url: string;
  readonly access: Access;
  readonly schema: FastifySchema;
  readonly document: RouteDocument;
}

type AccessHook = (access: Access) => onRequestHookHandler | undefined;

function toPattern(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part === '*') return '.+';
    return part.startsWith(':') ? '[^/]+' : RegExp.escape(part);
  });
  return new RegExp(`^${parts.join('/')}/?$`);
}

export function collectRoutes(app: Server, accessHook: AccessHook) {
  const routes: DeclaredRoute[] = [];
  const patterns = new Map<string, RegExp>();

  app.addHook('onRoute', (route) => {
    const access = route.config?.access;
    if (access === undefined)
      throw new Error(`route ${route.method} ${route.url} does not say who may call it`);
    if (!route.schema?.hide && !route.schema?.operationId)
      throw new Error(`route ${route.method} ${route.url} has no operationId`);
    const hook = accessHook(access);
    if (hook !== undefined) route.onRequest = [hook];
    patterns.set(route.url, toPattern(route.url));
    for (const method of [route.method].flat())
      routes.push({
        method,
        url: route.url,
        access,
        schema: route.schema ?? {},
        document: route.config?.document ?? {},
      });
  });

  /** The methods of a path; empty if nothing is there. `OPTIONS *` asks about the whole service. */
  function methodsOf(path: string): string[] {
    const here = path === '*' ? routes : routes.filter(({ url }) => patterns.get(url)?.test(path));
    return here.length === 0 ? [] : [...new Set([...here.map(({ method }) => method), 'OPTIONS'])];
  }

  return { routes: routes as readonly DeclaredRoute[], methodsOf };
}
