// The header that makes retries safe, on the routes that accept it.
import Type from 'typebox';

export const IdempotencyHeader = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({ description: 'Makes retries of this request safe for 24 hours.' }),
  ),
});
