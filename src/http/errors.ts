// The only place that knows HTTP statuses: maps codes to statuses, and any error to the body that callers see.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AppError, type ErrorCode } from '../errors.ts';

interface Status {
  readonly status: number;
  readonly when: string;
  /** Existing clients also read the text from `message`. */
  readonly repeatsMessage?: true;
}

export const statuses: Readonly<Record<ErrorCode, Status>> = {
  malformed_request: { status: 400, when: 'the request is not valid HTTP, or its URL cannot be decoded' },
  malformed_json: { status: 400, when: 'the body is not valid JSON in UTF-8' },
  bad_limit: { status: 400, when: '`limit` of a page of events is not between 1 and 100' },
  sign_in_failed: {
    status: 400,
    when: 'the sign-in took too long, was already used, or began in another tab',
  },
  unauthorized: {
    status: 401,
    when: 'the API key or token is missing, malformed, unknown, expired or revoked',
  },
  forbidden: { status: 403, when: 'the API key is valid but lacks the required scope' },
  sign_in_cancelled: { status: 403, when: 'the sign-in was cancelled at the provider, or refused by it' },
  sign_in_refused: {
    status: 403,
    when: 'the account at the sign-in provider may not sign in, or its user is disabled',
  },
  host_not_allowed: { status: 403, when: 'the Host header names a host that is not allowed' },
  origin_not_allowed: { status: 403, when: 'the request comes from a web page of another origin' },
  not_found: { status: 404, when: 'the path or the resource does not exist' },
  no_workspace: {
    status: 404,
    when: 'the conversation has no files: it has not started, or they were removed',
  },
  no_repository: {
    status: 404,
    when: 'the workspace is not a Git repository, or the repository cannot be read',
  },
  method_not_allowed: { status: 405, when: 'the path does not support this method; see Allow' },
  request_timeout: { status: 408, when: 'the request took too long to arrive' },
  conversation_exists: { status: 409, when: 'the conversation_id was used with a different request body' },
  idempotency_key_reused: { status: 409, when: 'the Idempotency-Key was used with a different request body' },
  nothing_to_confirm: { status: 409, when: 'no approval request is waiting for this answer' },
  not_running: { status: 409, when: 'the conversation is not running, so it cannot run a command' },
  snapshot_unusable: {
    status: 409,
    when: 'the machine with the files is gone, or they are needed for a fork, and their snapshot cannot be restored before the operator acts',
  },
  no_snapshot: { status: 409, when: 'there is no snapshot of the files for this fork; see its field files' },
  git_token_missing: { status: 409, when: 'no access token of the Git provider is stored' },
  git_token_refused: {
    status: 409,
    when: 'the Git provider does not accept the stored access token, or it lacks a permission',
  },
  user_exists: {
    status: 409,
    when: 'a user with this name already exists, or was removed and can be restored',
  },
  user_inactive: { status: 409, when: 'the user is disabled or removed' },
  last_admin: {
    status: 409,
    when: 'the user is the last one who can administer the service, and cannot be disabled or removed',
  },
  owner_protected: { status: 409, when: 'the owner can be neither renamed nor removed' },
  identity_exists: { status: 409, when: 'the account is linked to another user' },
  secret_exists: { status: 400, when: 'a secret with this name already exists', repeatsMessage: true },
  gone: { status: 410, when: 'the operation is no longer supported' },
  precondition_failed: { status: 412, when: 'the record has changed since the version in If-Match' },
  body_too_large: {
    status: 413,
    when: 'the body is larger than 16 MiB, or an upload larger than its limits',
  },
  unsupported_media_type: {
    status: 415,
    when: 'the body is not application/json, or not multipart/form-data where files are uploaded',
  },
  binary_file: { status: 415, when: 'the file is not UTF-8 text' },
  invalid: { status: 422, when: 'a field is invalid; `details` lists each one' },
  limit_reached: {
    status: 422,
    when: 'the maximum number of stored items or of waiting commands is reached',
  },
  provider_key_missing: {
    status: 422,
    when: 'no API key is stored for the provider of the model; the message says how to store one',
  },
  answer_too_large: { status: 422, when: 'the response would be too large' },
  rate_limited: { status: 429, when: 'too many requests, or too many open streams; see Retry-After' },
  too_many_waiting: {
    status: 429,
    when: 'too many of your conversations are waiting for a worker; see Retry-After',
  },
  git_provider_rate_limited: {
    status: 429,
    when: 'the Git provider has received too many requests with your access token; see Retry-After',
  },
  headers_too_large: { status: 431, when: 'the headers are larger than 16 KiB' },
  internal: { status: 500, when: 'an internal error; find it in the server log by `request_id`' },
  git_provider_failed: {
    status: 502,
    when: 'the Git provider cannot be reached, or does not respond as it should',
  },
  sign_in_provider_failed: {
    status: 502,
    when: 'the sign-in provider cannot be reached, or does not respond as it should',
  },
  overloaded: { status: 503, when: 'the server is overloaded; see Retry-After' },
  no_sandbox: {
    status: 503,
    when: 'there is no sandbox in which the workspace can be read; ask the operator',
  },
  node_unreachable: {
    status: 503,
    when: 'the machine that has the files of the conversation cannot be reached, or they are being restored from a snapshot; see Retry-After',
  },
  database_unavailable: {
    status: 503,
    when: 'the database is not available and nothing was stored; see Retry-After',
  },
  outcome_unknown: {
    status: 503,
    when: 'the database did not confirm the change, which may or may not have been stored',
  },
  sealing_key_missing: {
    status: 503,
    when: 'the encryption key was rotated and this process does not have the new key yet',
  },
  shutting_down: { status: 503, when: 'the server is shutting down (`/ready` only); see Retry-After' },
};

export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'A human-readable description of the error.' }),
    code: Type.Unsafe<ErrorCode>({ type: 'string', enum: Object.keys(statuses) }),
    request_id: Type.String(),
    details: Type.Array(
      Type.Object({ path: Type.String(), message: Type.String() }, { additionalProperties: false }),
    ),
    message: Type.Optional(Type.String({ description: 'The same text as `error`, for existing clients.' })),
  },
  { $id: 'Error', additionalProperties: false },
);
export type ErrorBody = Type.Static<typeof ErrorBody>;

export function errorBody(error: AppError, requestId: string): ErrorBody {
  const body = { error: error.message, code: error.code, request_id: requestId, details: [...error.details] };
  return statuses[error.code].repeatsMessage ? { ...body, message: error.message } : body;
}

export const jsonType = 'application/json; charset=utf-8';

export interface ErrorLog {
  error(what: object, message: string): void;
  warn(what: object, message: string): void;
}

const jsonOnly = 'Send the body as JSON with the header Content-Type: application/json.';

const frameworkCodes: Readonly<Record<string, AppError>> = {
  FST_ERR_BAD_URL: new AppError('malformed_request', 'The URL cannot be decoded.'),
  FST_ERR_MAX_PARAM_LENGTH: new AppError('not_found', 'This path does not exist.'),
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: new AppError('unsupported_media_type', jsonOnly),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new AppError('unsupported_media_type', jsonOnly),
};

/** Converts any error to one that may be shown. Unexpected errors become "internal". */
function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const known = frameworkCodes[(error as Partial<FastifyError>).code ?? ''];
  return known ?? new AppError('internal', 'An internal error occurred.', { cause: error });
}

/** One line, because this may be logged thousands of times during an outage. */
function causeOf({ cause }: AppError): string | undefined {
  return cause instanceof Error ? cause.message : undefined;
}

/** The response for any error. Internal errors are also logged. */
export function renderError(thrown: unknown, requestId: string, log: ErrorLog) {
  const error = toAppError(thrown);
  const { status } = statuses[error.code];
  const logged = { request_id: requestId, code: error.code };
  if (status === 500) log.error({ ...logged, err: error.cause ?? error }, 'request failed');
  else if (status > 500) log.warn({ ...logged, why: causeOf(error) }, 'request refused');
  const retry = error.retryAfterS === undefined ? {} : { 'retry-after': String(error.retryAfterS) };
  return {
    status,
    headers: { ...retry, ...error.headers },
    text: JSON.stringify(errorBody(error, requestId)),
  };
}

export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { status, headers, text } = renderError(thrown, request.id, request.log);
  // Fastify closes the connection when it rejects a body, and a client that is still sending would never read the
  // answer. Without this header, Node reads the rest of the body first.
  reply.removeHeader('connection');
  reply.code(status).headers(headers).header('content-type', jsonType).send(text);
}
