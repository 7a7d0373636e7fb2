import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type OutgoingCode, toOutgoingError } from './errors.ts';

const thrown = (code: string) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('hunter2'), { code }) });

describe('toOutgoingError', () => {
  const cases: readonly [OutgoingCode, readonly string[]][] = [
    ['refused', ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH']],
    ['timeout', ['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT']],
    [
      'tls',
      [
        'CERT_HAS_EXPIRED',
        'DEPTH_ZERO_SELF_SIGNED_CERT',
        'SELF_SIGNED_CERT_IN_CHAIN',
        'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
        'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
        'ERR_TLS_CERT_ALTNAME_INVALID',
        'ERR_SSL_WRONG_VERSION_NUMBER',
        'EPROTO',
      ],
    ],
    ['too_large', ['UND_ERR_HEADERS_OVERFLOW']],
    ['failed', ['ECONNRESET', 'UND_ERR_SOCKET', 'HPE_INVALID_CONSTANT', '']],
  ];
  for (const [expected, codes] of cases)
    for (const code of codes)
      it(`takes ${code || 'what has no code'} as ${expected}, without its words`, () => {
        const error = toOutgoingError(thrown(code), 1_500);
        assert.equal(error.code, expected);
        assert.ok(!error.message.includes('hunter2') && error.cause === undefined);
      });

  it('includes the timeout', () => {
    assert.equal(toOutgoingError(thrown('ETIMEDOUT'), 1_500).message, 'It did not respond within 1.5 s.');
  });
});
