import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Type } from 'typebox';
import { serializerCompiler } from './serializers.ts';

describe('serializers', () => {
  const schema = Type.Object({ name: Type.String() });

  it('send the fields of the schema, and no others', () => {
    const serialize = serializerCompiler({ schema, method: 'GET', url: '/' });
    assert.equal(serialize({ name: 'a', secret: 'b' }), '{"name":"a"}');
  });

  it('are shared by the routes that answer with the same schema', () => {
    const [first, second] = ['/first', '/second'].map((url) =>
      serializerCompiler({ schema, method: 'GET', url }),
    );
    assert.equal(first, second);
  });
});
