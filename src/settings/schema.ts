// The settings record. The order of its members is the order on the wire.
import Type, { type TProperties } from 'typebox';

const text = (options: object = {}) => Type.Unsafe<string | null>({ type: ['string', 'null'], ...options });
const integer = () => Type.Unsafe<number | null>({ type: ['integer', 'null'] });
const number = () => Type.Unsafe<number | null>({ type: ['number', 'null'] });
const flag = () => Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] });
const map = (of: object) => ({ type: 'object', additionalProperties: of });
const secret = (description: string) =>
  Type.Unsafe<null>({ type: 'null', description: `${description} Its value is never shown: always null.` });

export const SecretsStore = Type.Unsafe<{
  provider_tokens: Record<string, { host: string | null }>;
  custom_secrets: Record<string, { description: string | null }>;
}>({
  type: 'object',
  description: 'Which tokens and secrets are stored; never their values.',
  properties: {
    provider_tokens: map({ type: 'object', properties: { host: { type: ['string', 'null'] } } }),
    custom_secrets: map({ type: 'object', properties: { description: { type: ['string', 'null'] } } }),
  },
});

const members = {
  language: text(),
  agent: text(),
  max_iterations: integer(),
  security_analyzer: text(),
  confirmation_mode: flag(),
  llm_model: text(),
  llm_api_key: secret('The key of the language model.'),
  llm_api_key_set: Type.Boolean({ description: 'Whether a key of the language model is stored.' }),
  llm_base_url: text(),
  remote_runtime_resource_factor: integer(),
  secrets_store: SecretsStore,
  enable_default_condenser: Type.Boolean({ default: true }),
  enable_sound_notifications: Type.Boolean({ default: false }),
  enable_proactive_conversation_starters: Type.Boolean({ default: true }),
  enable_solvability_analysis: Type.Boolean({ default: true }),
  user_consents_to_analytics: flag(),
  sandbox_base_container_image: text(),
  sandbox_runtime_container_image: text(),
  mcp_config: Type.Unsafe<Record<string, unknown> | null>({
    type: ['object', 'null'],
    description: 'Tool servers; keys and environment values show as **********.',
    additionalProperties: true,
  }),
  search_api_key: secret('The key of the web search.'),
  sandbox_api_key: secret('The key of the sandbox.'),
  max_budget_per_task: number(),
  email: text(),
  email_verified: flag(),
  git_user_name: text(),
  git_user_email: text(),
  provider_tokens_set: Type.Unsafe<Record<string, string | null>>({
    ...map({ type: ['string', 'null'] }),
    description: 'The git providers with a stored token, each with its host or null.',
  }),
  search_api_key_set: Type.Boolean({ default: false }),
} satisfies TProperties;

export const FullSettings = Type.Object(members, { $id: 'Settings', additionalProperties: false });
export type FullSettings = Type.Static<typeof FullSettings>;

export const reducedMembers = [
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
] as const satisfies readonly (keyof FullSettings)[];

export const ReducedSettings = Type.Object(
  Object.fromEntries(reducedMembers.map((name) => [name, members[name]])) as Pick<
    typeof members,
    (typeof reducedMembers)[number]
  >,
  { $id: 'ReducedSettings', additionalProperties: false },
);
export type ReducedSettings = Type.Static<typeof ReducedSettings>;
