// The HTTP server: the checks that every request passes before its route runs, and the headers of every response.
import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type onRequestHookHandler,
} from 'fastify';
import type { Logger } from 'pino';
import type { Config, TrustProxy } from '../config.ts';
import { AppError } from '../errors.ts';
import type { Principal } from '../keys/principal.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Nodes } from '../nodes/service.ts';
import { nodeTokenHeader } from '../nodes/token.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { validatorCompiler } from '../validation/validation.ts';
import type { Access } from './access.ts';
import { boundArrival } from './arrival.ts';
import {
  type Authenticate,
  type AuthenticateAnonymous,
  carriesCredential,
  createAuthentication,
} from './authentication.ts';
import { type AuthFailures, createAuthFailures } from './authFailures.ts';
import { createBodyParser } from './body.ts';
import { commonHeaders } from './commonHeaders.ts';
import { sendError } from './errors.ts';
import { type FastRoute, openFastLane } from './fastLane.ts';
import { createGuard, type Guard } from './guard.ts';
import { createClientErrorHandler, createNodeServer } from './nodeServer.ts';
import { createOpenAnswers, type OpenAnswers } from './openAnswers.ts';
import type { RateLimiter } from './rates.ts';
import { logRequests } from './requestLog.ts';
import { measureRequests } from './requestMetrics.ts';
import { collectRoutes, type DeclaredRoute, type Server } from './routeTable.ts';
import { serializerCompiler } from './serializers.ts';
import { boundStall } from './stall.ts';
import { traceRequests } from './traceRequests.ts';
import { discardBody } from './unreadBody.ts';
import { createUnrouted, type Unrouted } from './unrouted.ts';
import { routeUpgrades } from './upgrades.ts';

const paramLengthMax = 512;
const corsMaxAgeS = 600;
const mediaType = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(;|$)/;
const unknownType = 'application/octet-stream';

interface ServerOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly authenticate: Authenticate;
  readonly authenticateAnonymous: AuthenticateAnonymous;
  readonly requestRates: RateLimiter;
  /** How many processes share the limits. */
  readonly sharing: () => number;
  /** Verifies the token of another process, for the method and URL of a request. */
  readonly verifyNode: VerifyNode;
  /** Only other processes may use the API. */
  readonly forNodesOnly: boolean;
  /** Requests below these paths may become WebSockets. */
  readonly upgradePaths: readonly string[];
  readonly isStopping: () => boolean;
  readonly metrics: Metrics;
  readonly tracing?: Tracing | undefined;
  readonly fastRoute?: FastRoute;
}

type VerifyNode = Nodes['verify'];

function createRequestIds(): () => string {
  const prefix = randomBytes(5).toString('hex');
  let count = 0;
  return () => `${prefix}-${(count++).toString(36)}`;
}

type TrustedProxies = false | string[] | ((address: string, hop: number) => boolean);

function trustedProxies(trust: TrustProxy): TrustedProxies {
  if (typeof trust === 'number') return trust === 0 ? false : (_, hop) => hop < trust;
  return trust.length === 0 ? false : [...trust];
}

export interface CreatedServer {
  readonly app: Server;
  /** Grows as routes are declared. */
  readonly routes: readonly DeclaredRoute[];
  readonly openAnswers: OpenAnswers;
  readonly failures: AuthFailures;
}

interface ServerParts {
  readonly guard: Guard;
  readonly trusted: TrustedProxies;
  readonly nextId: () => string;
  readonly openAnswers: OpenAnswers;
}

/** Fastify loads its own compilers, which takes long, unless it is given others. Ours are set instead. */
function unused(): never {
  throw new Error('schemas are compiled by the compilers that were set');
}

function createFastify(options: ServerOptions, { guard, trusted, nextId, openAnswers }: ServerParts): Server {
  return Fastify({
    loggerInstance: options.logger as FastifyBaseLogger,
    childLoggerFactory: (parent) => parent,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: nextId,
    requestIdHeader: false,
    trustProxy: trusted,
    serverFactory: (listener) => {
      const answerUsually: RequestListener = (request, response) => {
        openAnswers.follow(request, response);
        listener(request, response);
      };
      const answer =
        options.fastRoute === undefined
          ? answerUsually
          : openFastLane(options.fastRoute, { ...options, guard, nextId, openAnswers }, answerUsually);
      return createNodeServer({ answer, openAnswers, nextId, upgradePaths: options.upgradePaths });
    },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    schemaController: { compilersFactory: { buildValidator: unused, buildSerializer: unused } },
    routerOptions: { maxParamLength: paramLengthMax, ignoreTrailingSlash: true },
    clientErrorHandler: createClientErrorHandler({ openAnswers, nextId }),
    frameworkErrors: (error, request, reply) => {
      reply.headers(commonHeaders).header('x-request-id', request.id);
      sendError(error, request, reply);
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
}

/** The host of a request target in absolute form, as proxies send it. It counts more than the Host header. */
function authorityOf(target = ''): string | undefined {
  return /^https?:\/\/([^/?#]*)/i.exec(target)?.[1];
}

/** Accepts a request that another process of the cluster has checked already. */
function acceptFromNode(request: FastifyRequest, verify: VerifyNode): boolean {
  const token = request.headers[nodeTokenHeader];
  if (typeof token !== 'string') return false;
  const passed = verify(token, { method: request.method, url: request.raw.url ?? '' });
  if (passed === undefined) return false;
  request.principal = passed.principal;
  request.id = passed.requestId;
  request.isPassedOn = true;
  return true;
}

/** Checks the host and the origin before anything else, and answers what needs no route. */
function requestHook(
  { guard, trusted }: ServerParts,
  unrouted: Unrouted,
  verifyNode: VerifyNode,
): onRequestHookHandler {
  return (request, reply, done) => {
    const isFromNode = acceptFromNode(request, verifyNode);
    boundStall(request.raw.socket);
    boundArrival(request.raw, request.server.server);
    reply.headers(commonHeaders).header('x-request-id', request.id);
    // A request without a body is validated as an empty object.
    request.body = {};
    request.response = reply.raw;
    // Fastify would refuse an invalid media type even if the request has no body.
    if (!isMediaType(request.headers['content-type'])) request.headers = { 'content-type': unknownType };
    const host = trusted !== false ? request.host : request.headers.host;
    const { origin } = request.headers;
    if (isFromNode) return done();
    try {
      guard.check(host, origin);
      const named = authorityOf(request.raw.url);
      if (named !== undefined) guard.check(named, origin);
    } catch (error) {
      return done(error as Error);
    }
    const cors = guard.corsOrigin(host, origin);
    if (cors !== undefined && answerCors(cors, request, reply)) return;
    // Unknown paths are answered here, before their body is read.
    if (request.is404) unrouted.answer(request, reply, done);
    else done();
  };
}

/** Creates the server without its routes. */
export function createServer(options: ServerOptions): CreatedServer {
  const { config, logger, isStopping } = options;
  const parts: ServerParts = {
    guard: createGuard(config),
    trusted: trustedProxies(config.trustProxy),
    nextId: createRequestIds(),
    openAnswers: createOpenAnswers(),
  };
  const app = createFastify(options, parts);
  const failures = createAuthFailures(logger, options.sharing);
  const { routes, methodsOf } = collectRoutes(app, (access) => accessHook(access, options, failures));
  const unrouted = createUnrouted(methodsOf);

  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler(sendError);
  app.setNotFoundHandler((request, reply) => sendError(unrouted.refusal(request), request, reply));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', createBodyParser());
  app.decorateRequest('principal');
  app.decorateRequest('isPassedOn', false);
  app.decorateRequest('isNodeGone', false);
  app.decorateRequest('overRate');
  app.decorateRequest('response');
  app.decorateRequest('span');

  if (options.tracing !== undefined) traceRequests(app, options.tracing);
  logRequests(app, logger, config.accessLog);
  app.addHook('onRequest', requestHook(parts, unrouted, options.verifyNode));
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (isStopping()) reply.header('connection', 'close');
    if (isLastOfConnection(request, reply)) discardBody(request.raw, done);
    else done();
  });
  measureRequests(app, options.metrics);
  routeUpgrades(app.server, app);
  return { app, routes, openAnswers: parts.openAnswers, failures };
}

function isLastOfConnection({ headers, raw }: FastifyRequest, reply: FastifyReply): boolean {
  const asked = headers.connection?.toLowerCase() === 'close' || raw.httpVersion === '1.0';
  return asked || reply.getHeader('connection') === 'close';
}

function isMediaType(contentType: string | undefined): boolean {
  return contentType === undefined || mediaType.test(contentType);
}

/** Adds the CORS headers for an allowed origin. Returns true if it was a preflight, which is answered then. */
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

/** Checks the credential, its scope and its rate limit before a route runs. */
function accessHook(
  access: Access,
  options: ServerOptions,
  failures: AuthFailures,
): onRequestHookHandler | undefined {
  if (access.public) return undefined;
  const authentication = createAuthentication(options.authenticate, {
    ...access,
    acceptBearer: options.config.acceptBearer,
    authenticateAnonymous: options.authenticateAnonymous,
  });
  return (request, _reply, done) => {
    if (request.isPassedOn) return done();
    if (options.forNodesOnly) return done(new AppError('not_found', 'This path does not exist.'));
    authentication(request.headers, (error, principal) => {
      if (principal === undefined) return done(refusal(error, request, failures));
      if (!isWithin(principal, request)) return done(otherConversation);
      request.principal = principal;
      const over = options.requestRates.take(principal.keyId);
      if (access.limitedByHandler) request.overRate = over;
      done(access.limitedByHandler ? undefined : over);
    });
  };
}

const otherConversation = new AppError('forbidden', 'This API key is valid for one conversation only.');

/** Whether an API key that is limited to one conversation may send this request. */
function isWithin({ conversationId }: Principal, { params, routeOptions }: FastifyRequest): boolean {
  if (conversationId === undefined) return true;
  const isOfConversation = /^\/api\/conversations\/:id(\/|$)/.test(routeOptions.url ?? '');
  return isOfConversation && (params as { id?: string }).id === conversationId;
}

/** The error for an unauthenticated request. Requests without any credential do not count as failed logins. */
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
