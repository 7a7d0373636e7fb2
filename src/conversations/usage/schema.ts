// What a conversation has taken of its model, as callers see it.
import Type from 'typebox';

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const Usage = Type.Object(
  {
    requests: count('Model requests.'),
    input_tokens: count('Without those of a cache.'),
    output_tokens: count('With those of its thoughts.'),
    cache_read_tokens: count('Read from a cache of the provider.'),
    cache_write_tokens: count('Written to one.'),
    cost_usd: Type.Number({ minimum: 0, description: 'US dollars, by the prices that are known.' }),
  },
  { $id: 'Usage', additionalProperties: false },
);
export type Usage = Type.Static<typeof Usage>;
