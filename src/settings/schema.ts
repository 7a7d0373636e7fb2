// The settings. Fields are returned in this order, and the same schemas validate writes.
import Type, { type TProperties, type TSchema, type TUnsafe } from 'typebox';
import { NullableMcpConfig, ShownMcpConfig } from '../mcp/schema.ts';
import { modelTextFault } from '../models/names.ts';
import { checked, kib, nullableText, orNull } from '../validation/schema.ts';
import { urlFault } from '../validation/url.ts';

const textBytesMax = 4 * kib;
const iterationsMax = 100_000;
const resourceFactorMax = 16;

const text = (description?: string) =>
  nullableText({ bytesMax: textBytesMax, ...(description === undefined ? {} : { description }) });
const integer = (minimum: number, maximum: number) => orNull(Type.Integer({ minimum, maximum }));
const maybe = () => orNull(Type.Boolean());
const map = (of: object) => ({ type: 'object', additionalProperties: of });
const oneText = (name: string) => ({
  type: 'object',
  properties: { [name]: { type: ['string', 'null'] } },
  required: [name],
});
const secret = (description: string) =>
  Type.Unsafe<null>({
    type: 'null',
    description: `${description} Always null: the value is never returned.`,
  });

function baseUrlFault(value: string): string | undefined {
  if (value === '') return undefined;
  return /^https?:/i.test(value)
    ? urlFault(value, 'llm_api_key')
    : 'must be an http or https URL with a host';
}

export const SecretsStore = Type.Unsafe<{
  provider_tokens: Record<string, { host: string | null }>;
  custom_secrets: Record<string, { description: string | null }>;
}>({
  type: 'object',
  description: 'Which access tokens and secrets are stored, without their values.',
  properties: {
    provider_tokens: map(oneText('host')),
    custom_secrets: map(oneText('description')),
  },
  required: ['provider_tokens', 'custom_secrets'],
});

const fields = {
  language: text('The language of the web UI and of answers, such as en or zh-CN.'),
  agent: text('The agent for new conversations; null is the built-in agent.'),
  max_iterations: integer(1, iterationsMax),
  security_analyzer: text(),
  confirmation_mode: maybe(),
  // Existing clients store any text here, so the form of the name is left to the run.
  llm_model: checked(
    text('For example, anthropic/claude-sonnet-4-5; see /api/options/models.'),
    modelTextFault,
  ),
  llm_api_key: secret('The API key of the model.'),
  llm_api_key_set: Type.Boolean({ description: 'Whether an API key of the model is stored.' }),
  llm_base_url: checked(
    text('The base URL of the model, if it is not the default of the provider.'),
    baseUrlFault,
  ),
  remote_runtime_resource_factor: integer(1, resourceFactorMax),
  secrets_store: SecretsStore,
  enable_default_condenser: Type.Boolean({ default: true }),
  enable_sound_notifications: Type.Boolean({ default: false }),
  enable_proactive_conversation_starters: Type.Boolean({ default: true }),
  enable_solvability_analysis: Type.Boolean({ default: true }),
  user_consents_to_analytics: maybe(),
  sandbox_base_container_image: text(),
  sandbox_runtime_container_image: text(),
  mcp_config: orNull(ShownMcpConfig),
  search_api_key: secret('The API key of the web search.'),
  sandbox_api_key: secret('The API key of the sandbox.'),
  max_budget_per_task: orNull(Type.Number({ minimum: 0, description: 'US dollars.' })),
  email: text(),
  email_verified: maybe(),
  git_user_name: text(),
  git_user_email: text(),
  provider_tokens_set: Type.Unsafe<Record<string, string | null>>({
    ...map({ type: ['string', 'null'] }),
    description: 'Git providers with a stored access token, each with its host or null.',
  }),
  search_api_key_set: Type.Boolean({ default: false }),
} satisfies TProperties;

export const FullSettings = Type.Object(fields, { $id: 'Settings', additionalProperties: false });
export type FullSettings = Type.Static<typeof FullSettings>;
export type MemberName = keyof FullSettings;

export const reducedFields = [
  'language',
  'agent',
  'security_analyzer',
  'confirmation_mode',
  'llm_model',
  'llm_api_key_set',
  'llm_base_url',
  'remote_runtime_resource_factor',
  'enable_default_condenser',
  'enable_sound_notifications',
  'user_consents_to_analytics',
  'provider_tokens_set',
] as const satisfies readonly MemberName[];

export const ReducedSettings = Type.Object(
  Object.fromEntries(reducedFields.map((name) => [name, fields[name]])) as Pick<
    typeof fields,
    (typeof reducedFields)[number]
  >,
  { $id: 'ReducedSettings', additionalProperties: false },
);
export type ReducedSettings = Type.Static<typeof ReducedSettings>;

/** Encrypted separately; shown as null. */
export const secretFields = ['llm_api_key', 'search_api_key', 'sandbox_api_key'] as const;
export type SecretField = (typeof secretFields)[number];

export function isSecretField(name: string): name is SecretField {
  return (secretFields as readonly string[]).includes(name);
}

/** Derived from other data; nobody writes them. */
const derivedFields = [
  'llm_api_key_set',
  'secrets_store',
  'email_verified',
  'provider_tokens_set',
  'search_api_key_set',
] as const satisfies readonly MemberName[];

export function isDerived(name: string): boolean {
  return (derivedFields as readonly string[]).includes(name);
}

/** Fields for which null in a POST means "unchanged", because existing clients send that. */
export const keptOnNull: ReadonlySet<string> = new Set([
  'llm_model',
  'llm_base_url',
  'user_consents_to_analytics',
  ...secretFields,
]);

const secretText = nullableText({
  bytesMax: textBytesMax,
  description: 'Stored encrypted and never shown again.',
});

type PlainField = Exclude<MemberName, (typeof derivedFields)[number] | SecretField | 'mcp_config'>;
type Written = { [Name in PlainField]?: FullSettings[Name] | null } & {
  [Name in SecretField]?: string | null;
} & { mcp_config?: Type.Static<typeof NullableMcpConfig> };

/** Fields whose form in requests differs from the one in responses. */
const writtenSchemas: Readonly<Record<string, TSchema>> = {
  ...Object.fromEntries(secretFields.map((name) => [name, secretText])),
  mcp_config: NullableMcpConfig,
};

function writeSchemas(change: (schema: TSchema) => TSchema): TProperties {
  const names = Object.keys(fields).filter((name) => !isDerived(name));
  return Object.fromEntries(
    names.map((name) => [name, Type.Optional(writtenSchemas[name] ?? change(fields[name as MemberName]))]),
  );
}

/** Null resets a boolean to its default. */
function nullToDefault(schema: TSchema): TSchema {
  return (schema as { type?: unknown }).type === 'boolean' ? orNull(schema) : schema;
}

/** POST has the form of existing clients, which send whole records back. Unknown fields are ignored. */
export const PostSettings = Type.Object(
  writeSchemas((schema) => schema),
  { $id: 'PostSettings', additionalProperties: true },
) as unknown as TUnsafe<Written>;

/** PATCH is a JSON merge patch. Unknown fields are refused. */
export const PatchSettings = Type.Object(writeSchemas(nullToDefault), {
  $id: 'PatchSettings',
  additionalProperties: false,
}) as unknown as TUnsafe<Written>;
export type SettingsChange = Written;
