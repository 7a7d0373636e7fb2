// The HTTP server: what every request passes before a route sees it, and what every answer carries.
import { randomBytes } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type onRequestHookHandler,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from 'fastify';
import type { Logger } from 'pino';
import type { Config, TrustProxy } from '../config.ts';
import { AppError } from '../errors.ts';
import { validatorCompiler } from '../validation.ts';
import type { Access } from './access.ts';
import { type Authenticate, carriesCredential, createAuthentication } from './authentication.ts';
import { type AuthFailures, createAuthFailures } from './authFailures.ts';
import { createBodyParser } from './body.ts';
import { commonHeaders } from './commonHeaders.ts';
import { errorBody, jsonType, sendError, statuses } from './errors.ts';
import { type FastRoute, openFastLane } from './fastLane.ts';
import { createGuard } from './guard.ts';
import { LaneRequest } from './laneRequest.ts';
import type { RateLimiter } from './rates.ts';
import { keepAliveTimeoutMs } from './readyHead.ts';
import { collectRoutes, type DeclaredRoute } from './routeTable.ts';
import { boundStall } from './stall.ts';

export type Server = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

const requestTimeoutMs = 60_000;
const headersTimeoutMs = 10_000;
const timeoutsCheckedMs = 2_000;
const refusalWaitsMs = 2_000;
const paramLengthMax = 512;
const corsMaxAgeS = 600;

interface ServerOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly authenticate: Authenticate;
  readonly requestRates: RateLimiter;
  readonly isStopping: () => boolean;
  readonly fastRoutes?: readonly FastRoute[];
}

function createRequestIds(): () => string {
  const prefix = randomBytes(5).toString('hex');
  let count = 0;
  return () => `${prefix}-${(count++).toString(36)}`;
}

function trustedProxies(trust: TrustProxy): false | string[] | ((address: string, hop: number) => boolean) {
  if (typeof trust === 'number') return trust === 0 ? false : (_, hop) => hop < trust;
  return trust.length === 0 ? false : [...trust];
}

/** A connection whose answer is being written. Node keeps it here, and looks at it in its own handler, too. */
type BusySocket = Socket & { readonly _httpMessage?: ServerResponse | null };

/** Whether a refusal would be taken for an answer, or for a part of one, that somebody waits for. */
function isBusy({ _httpMessage: answer }: BusySocket): boolean {
  return answer != null && (answer.headersSent || answer.req.complete);
}

function refusalOf(code: string | undefined): AppError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new AppError('headers_too_large', 'The headers are larger than 16 KiB.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new AppError('request_timeout', 'The request took too long to arrive.');
  return new AppError('malformed_request', 'The request is not proper HTTP.');
}

/** Answers what Node itself could not read as a request, in the shape of all other errors, and closes. */
function createClientErrorHandler(nextId: () => string) {
  return (thrown: Error & { code?: string }, socket: BusySocket): void => {
    if (thrown.code === 'ECONNRESET' || !socket.writable || isBusy(socket)) return void socket.destroy();
    const error = refusalOf(thrown.code);
    const { status } = statuses[error.code];
    const body = JSON.stringify(errorBody(error, nextId()));
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: ${jsonType}\r\n`;
    // Who does not read it, or never closes, is not waited for.
    socket.setTimeout(refusalWaitsMs, () => socket.destroy());
    socket.end(`${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`, () =>
      socket.destroySoon(),
    );
  };
}

/** The server without routes. Returns it with the list that fills as routes are declared. */
export function createServer(options: ServerOptions): { app: Server; routes: readonly DeclaredRoute[] } {
  const { config, logger, isStopping } = options;
  const nextId = createRequestIds();
  const guard = createGuard(config);
  const trusted = trustedProxies(config.trustProxy);

  const app: Server = Fastify({
    loggerInstance: logger as FastifyBaseLogger,
    childLoggerFactory: (parent) => parent,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: nextId,
    requestIdHeader: false,
    trustProxy: trusted,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    http: {
      IncomingMessage: LaneRequest,
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: timeoutsCheckedMs,
      // A request without a body is no stream that somebody would read.
      optimizeEmptyRequests: true,
    },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: paramLengthMax },
    clientErrorHandler: createClientErrorHandler(nextId),
    frameworkErrors: (error, request, reply) => {
      reply.headers(commonHeaders).header('x-request-id', request.id);
      sendError(error, request, reply);
    },
  }).withTypeProvider<TypeBoxTypeProvider>();

  app.setValidatorCompiler(validatorCompiler);
  app.setErrorHandler(sendError);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', createBodyParser());
  app.decorateRequest('principal');
  app.decorateRequest('overRate');
  app.decorateRequest('response');

  app.addHook('onRequest', (request, reply, done) => {
    boundStall(request.raw.socket);
    reply.headers(commonHeaders).header('x-request-id', request.id);
    // A request without a body asks with an empty object.
    request.body = {};
    request.response = reply.raw;
    if (isStopping()) return done(stopping());
    const host = trusted !== false ? request.host : request.headers.host;
    const { origin } = request.headers;
    try {
      guard.check(host, origin);
    } catch (error) {
      return done(error as Error);
    }
    const cors = guard.corsOrigin(host, origin);
    if (cors !== undefined && answerCors(cors, request, reply)) return;
    // Before a body is read that nobody will look at.
    done(request.is404 ? nothingHere(request) : undefined);
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isStopping()) reply.header('connection', 'close');
    done();
  });
  if (logger.isLevelEnabled('debug')) logRequests(app);

  const failures = createAuthFailures(logger);
  const { routes, methodsOf } = collectRoutes(app, (access) => accessHook(access, options, failures));
  app.setNotFoundHandler((request, reply) => sendError(nothingHere(request), request, reply));

  function nothingHere(request: FastifyRequest): AppError {
    const allow = methodsOf(request.url.split('?', 1)[0] ?? '').join(', ');
    if (allow === '')
      return new AppError('not_found', 'There is nothing at this path; GET /docs shows what there is.');
    return new AppError('method_not_allowed', `This path takes ${allow}.`, { headers: { allow } });
  }

  // What counts or logs each request must see each one.
  if (config.rateLimit === 0 && trusted === false && !logger.isLevelEnabled('debug') && options.fastRoutes)
    openFastLane(app.server, options.fastRoutes, { ...options, guard, nextId });
  return { app, routes };
}

function stopping(): AppError {
  return new AppError('shutting_down', 'The service is stopping; try again in a moment.', { retryAfterS: 5 });
}

/** Names the foreign origin as allowed. True: it was a preflight, and it is answered. */
function answerCors(origin: string, request: FastifyRequest, reply: FastifyReply): boolean {
  reply.headers({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'ETag, Retry-After, X-Request-Id',
    'cross-origin-resource-policy': 'cross-origin',
    vary: 'Origin',
  });
  if (request.method !== 'OPTIONS') return false;
  reply
    .code(204)
    .headers({
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers':
        'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Session-API-Key',
      'access-control-max-age': String(corsMaxAgeS),
    })
    .send();
  return true;
}

/** What stands before one route: the credential, its scope and its rate. */
function accessHook(
  access: Access,
  options: ServerOptions,
  failures: AuthFailures,
): onRequestHookHandler | undefined {
  if (access.public) return undefined;
  const authentication = createAuthentication(options.authenticate, {
    ...access,
    acceptBearer: options.config.acceptBearer,
  });
  return (request, _reply, done) => {
    authentication(request.headers, (error, principal) => {
      if (principal === undefined) return done(refusal(error, request, failures));
      request.principal = principal;
      const over = options.requestRates.take(principal.keyId);
      if (access.limitedByHandler) request.overRate = over;
      done(access.limitedByHandler ? undefined : over);
    });
  };
}

/** The error for a request without a principal. Only a credential that was sent and refused counts as a failure. */
function refusal(
  error: Error | undefined,
  request: FastifyRequest,
  failures: AuthFailures,
): Error | undefined {
  const isRefused = error instanceof AppError && error.code === 'unauthorized';
  if (!isRefused || !carriesCredential(request.headers)) return error;
  const route = `${request.method} ${request.routeOptions.url ?? '(none)'}`;
  return failures.record({ address: request.ip, route, requestId: request.id }) ?? error;
}

function logRequests(app: Server): void {
  app.addHook('onResponse', (request, reply, done) => {
    // The route's pattern, not the URL: a query string or a mistyped path may hold anything.
    const { method, routeOptions, id } = request;
    const route = routeOptions.url ?? '(none)';
    const ms = Math.round(reply.elapsedTime * 1_000) / 1_000;
    request.log.debug({ request_id: id, method, route, status: reply.statusCode, ms }, 'request');
    done();
  });
}
