// The public form of the model usage of a conversation.
import Type from 'typebox';

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const Usage = Type.Object(
  {
    requests: count('Model requests.'),
    input_tokens: count('Input tokens, without cached tokens.'),
    output_tokens: count('Output tokens, including reasoning.'),
    cache_read_tokens: count('Tokens read from the cache of the provider.'),
    cache_write_tokens: count('Tokens written to the cache of the provider.'),
    cost_usd: Type.Number({ minimum: 0, description: 'The cost in US dollars, based on known prices.' }),
  },
  { $id: 'Usage', additionalProperties: false },
);
export type Usage = Type.Static<typeof Usage>;
