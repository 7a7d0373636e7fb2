// API keys of model providers. Responses never contain a value.
import Type from 'typebox';
import { kib, text } from '../validation/schema.ts';

const keyBytesMax = 4 * kib;

export const ProviderKey = Type.Object(
  {
    provider: Type.String({ description: 'The prefix of its models, such as openai.' }),
    is_set: Type.Boolean({ description: 'Whether a key is stored.' }),
    is_required: Type.Boolean({ description: 'False if its models also work without a key.' }),
  },
  { $id: 'ProviderKey', additionalProperties: false },
);
export type ProviderKey = Type.Static<typeof ProviderKey>;

export const ProviderKeyList = Type.Object(
  { provider_keys: Type.Array(ProviderKey) },
  { $id: 'ProviderKeyList', additionalProperties: false },
);
export type ProviderKeyList = Type.Static<typeof ProviderKeyList>;

/** A key is sent in an HTTP header, which limits its characters. */
export const NewProviderKey = Type.Object(
  {
    api_key: text({
      bytesMax: keyBytesMax,
      pattern: '^[\\x21-\\x7e]+$',
      patternText: 'consist of printable ASCII characters without spaces',
      description: 'Stored encrypted and never shown again.',
    }),
  },
  { $id: 'NewProviderKey', additionalProperties: false },
);
export type NewProviderKey = Type.Static<typeof NewProviderKey>;
