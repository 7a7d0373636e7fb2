// Errors of outgoing requests with messages that are safe to show: they contain no query, credential, header or body.

export type OutgoingCode =
  | 'address_not_allowed'
  | 'name_not_found'
  | 'refused'
  | 'timeout'
  | 'redirect'
  | 'too_large'
  | 'tls'
  | 'failed';

/**
 * `message` is a sentence about the other server, called "it". There is no cause, because that could quote the request.
 */
export class OutgoingError extends Error {
  readonly code: OutgoingCode;

  constructor(code: OutgoingCode, message: string) {
    super(message);
    this.name = 'OutgoingError';
    this.code = code;
  }
}

export function timedOut(timeoutMs: number): OutgoingError {
  return new OutgoingError('timeout', `It did not respond within ${timeoutMs / 1_000} s.`);
}

const refusals = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EACCES']);
const timeouts = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT']);
const tlsCodes = /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|EPROTO$)|SELF_SIGNED|CERT_SIGNATURE|ISSUER_CERT|_CRL/;

/** Converts errors of the HTTP client. Only their code is used. */
export function toOutgoingError(thrown: unknown, timeoutMs: number): OutgoingError {
  if (thrown instanceof OutgoingError) return thrown;
  if (!(thrown instanceof Error)) return new OutgoingError('failed', 'The connection to it failed.');
  if (thrown.cause instanceof Error) return toOutgoingError(thrown.cause, timeoutMs);
  const code = String((thrown as NodeJS.ErrnoException).code ?? '');
  if (refusals.has(code)) return new OutgoingError('refused', 'It does not accept connections.');
  if (timeouts.has(code)) return timedOut(timeoutMs);
  if (tlsCodes.test(code))
    return new OutgoingError('tls', `A secure connection to it cannot be established (${code}).`);
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return new OutgoingError('too_large', 'The headers of its response are too large.');
  return new OutgoingError('failed', 'The connection to it failed.');
}
