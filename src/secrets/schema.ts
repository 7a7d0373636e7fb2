// Custom secrets and access tokens for git providers. Responses never contain a value.
import Type from 'typebox';
import { gitProviders } from '../git/providers.ts';
import { checked, kib, nullableText, orNull, text } from '../validation/schema.ts';

const valueBytesMax = 64 * kib;
const tokenBytesMax = 4 * kib;
const hostBytesMax = 512;

/** How many custom secrets one user may have. */
export const customSecretsMax = 1_000;

export const SecretName = text({
  bytesMax: 64,
  pattern: '^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,63}$',
  patternText: 'consist of letters, digits and _, and not begin with a digit',
  description: 'A valid name of an environment variable.',
});

const Description = nullableText({ bytesMax: kib });

const Value = text({
  bytesMax: valueBytesMax,
  lengthMin: 1,
  description: 'Stored encrypted and never shown again.',
});

export const NewSecret = Type.Object(
  {
    name: SecretName,
    value: Value,
    description: Type.Optional(Description),
  },
  { $id: 'NewSecret', additionalProperties: false },
);
export type NewSecret = Type.Static<typeof NewSecret>;

export const SecretUpdate = Type.Object(
  {
    name: Type.Optional(SecretName),
    value: Type.Optional(Value),
    description: Type.Optional(Description),
  },
  { $id: 'SecretUpdate', additionalProperties: false },
);
export type SecretUpdate = Type.Static<typeof SecretUpdate>;

export const SecretList = Type.Object(
  {
    custom_secrets: Type.Array(
      Type.Object(
        { name: Type.String(), description: orNull(Type.String()) },
        { additionalProperties: false },
      ),
    ),
  },
  { $id: 'SecretList', additionalProperties: false },
);

/** The host of a self-managed provider, with or without https://; '' if there is none. */
export function normaliseHost(sent: string | null | undefined): string | null {
  const host = (sent ?? '')
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/\/+$/, '');
  return host === '' ? null : host.toLowerCase();
}

function hostFault(value: string): string | undefined {
  const host = normaliseHost(value);
  const good = host === null || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/.test(host);
  return good ? undefined : 'must be a host name, such as git.example.com, optionally with a port';
}

const ProviderToken = Type.Object(
  {
    token: Type.Optional(
      nullableText({
        bytesMax: tokenBytesMax,
        description: 'An empty string keeps the stored token. Never shown again.',
      }),
    ),
    host: Type.Optional(
      checked(
        nullableText({ bytesMax: hostBytesMax, description: 'The host of a self-hosted instance.' }),
        hostFault,
      ),
    ),
  },
  { additionalProperties: true },
);

export const AddGitProviders = Type.Object(
  {
    provider_tokens: Type.Object(
      Object.fromEntries(gitProviders.map((provider) => [provider, Type.Optional(ProviderToken)])) as Record<
        (typeof gitProviders)[number],
        Type.TOptional<typeof ProviderToken>
      >,
      { additionalProperties: false },
    ),
  },
  { $id: 'AddGitProviders', additionalProperties: false },
);
export type AddGitProviders = Type.Static<typeof AddGitProviders>;
