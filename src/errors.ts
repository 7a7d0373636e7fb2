// The errors that callers may see, as codes. Only http/errors.ts knows which status each one has.

export type ErrorCode =
  | 'malformed_request'
  | 'malformed_json'
  | 'unauthorized'
  | 'forbidden'
  | 'host_not_allowed'
  | 'origin_not_allowed'
  | 'not_found'
  | 'no_workspace'
  | 'no_repository'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'conversation_exists'
  | 'idempotency_key_reused'
  | 'nothing_to_confirm'
  | 'not_running'
  | 'snapshot_unusable'
  | 'no_snapshot'
  | 'git_token_missing'
  | 'git_token_refused'
  | 'secret_exists'
  | 'user_exists'
  | 'user_inactive'
  | 'last_admin'
  | 'owner_protected'
  | 'gone'
  | 'precondition_failed'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'binary_file'
  | 'invalid'
  | 'limit_reached'
  | 'provider_key_missing'
  | 'answer_too_large'
  | 'bad_limit'
  | 'rate_limited'
  | 'too_many_waiting'
  | 'git_provider_rate_limited'
  | 'headers_too_large'
  | 'internal'
  | 'sign_in_failed'
  | 'sign_in_cancelled'
  | 'sign_in_refused'
  | 'sign_in_provider_failed'
  | 'identity_exists'
  | 'git_provider_failed'
  | 'overloaded'
  | 'no_sandbox'
  | 'node_unreachable'
  | 'database_unavailable'
  | 'outcome_unknown'
  | 'sealing_key_missing'
  | 'shutting_down';

/** A path in the input and what is wrong there. It never contains the value. */
export interface Detail {
  readonly path: string;
  readonly message: string;
}

interface AppErrorOptions {
  readonly details?: readonly Detail[];
  readonly retryAfterS?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** An expected failure. `message` is shown to the caller; `cause` is only logged. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: readonly Detail[];
  readonly retryAfterS: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.details = options.details ?? [];
    this.retryAfterS = options.retryAfterS;
    this.headers = options.headers ?? {};
  }
}

/** Input that was understood but is not valid. The message comes from the first detail. */
export function invalid(details: readonly Detail[]): AppError {
  const [first] = details;
  const sentence = first ? `${first.path} ${first.message}.` : 'The request is not valid.';
  return new AppError('invalid', sentence, { details });
}

/** A refusal to start, or a misused command: the message says what to do, the exit code is 2. */
export class RefusalError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RefusalError';
  }
}
