// The base URLs of model providers, and the model APIs that each offers.
import { commandName } from '../process/program.ts';
import { resolveModelName } from './names.ts';
import type { Protocol } from './protocols.ts';

type Authorization = 'bearer' | 'x-api-key' | 'x-goog-api-key';

interface Offer {
  /** The path after the origin, to which agents append theirs. */
  readonly base: string;
  readonly authorization: Authorization;
}

interface Provider {
  /** Without it, an `llm_base_url` is required. */
  readonly origin?: string;
  readonly offers: Readonly<Partial<Record<Protocol, Offer>>>;
  /** It also works without an API key. */
  readonly keyless?: true;
}

const bearer = (base: string): Offer => ({ base, authorization: 'bearer' });

/** A provider that offers only chat completions. */
const chatAt = (origin: string, base: string): Provider => ({
  origin,
  offers: { 'openai-chat': bearer(base) },
});

export const providers: Readonly<Record<string, Provider>> = {
  anthropic: {
    origin: 'https://api.anthropic.com',
    offers: { anthropic: { base: '', authorization: 'x-api-key' }, 'openai-chat': bearer('/v1') },
  },
  openai: {
    origin: 'https://api.openai.com',
    offers: { 'openai-chat': bearer('/v1'), 'openai-responses': bearer('/v1') },
  },
  gemini: {
    origin: 'https://generativelanguage.googleapis.com',
    offers: {
      gemini: { base: '', authorization: 'x-goog-api-key' },
      'openai-chat': bearer('/v1beta/openai'),
    },
  },
  openrouter: {
    origin: 'https://openrouter.ai',
    offers: {
      'openai-chat': bearer('/api/v1'),
      'openai-responses': bearer('/api/v1'),
      anthropic: bearer('/api'),
    },
  },
  deepseek: chatAt('https://api.deepseek.com', '/v1'),
  groq: chatAt('https://api.groq.com', '/openai/v1'),
  mistral: chatAt('https://api.mistral.ai', '/v1'),
  moonshot: chatAt('https://api.moonshot.ai', '/v1'),
  xai: chatAt('https://api.x.ai', '/v1'),
  zai: chatAt('https://api.z.ai', '/api/paas/v4'),
  ollama: {
    origin: 'http://127.0.0.1:11434',
    offers: { 'openai-chat': bearer('/v1'), 'openai-responses': bearer('/v1'), anthropic: bearer('') },
    keyless: true,
  },
  litellm_proxy: {
    offers: {
      'openai-chat': bearer('/v1'),
      'openai-responses': bearer('/v1'),
      anthropic: { base: '', authorization: 'x-api-key' },
    },
  },
};

/** Origins by provider that the operator configured, such as a proxy. */
export type ModelHosts = Readonly<Record<string, string>>;

interface Wanted {
  readonly model: string | null;
  readonly baseUrl: string | null;
  readonly protocol: Protocol;
  readonly modelHosts: ModelHosts;
}

export interface Upstream {
  /** Without a trailing slash. */
  readonly base: string;
  /** The provider's name for the model. */
  readonly model: string;
  /** The user's name for the model, which determines its price. */
  readonly name: string;
  readonly authorization: Authorization;
  readonly keyless: boolean;
  /** The user set the base URL. A private address there costs nothing. */
  readonly custom: boolean;
  /** The operator configured it, so it may be private. */
  readonly namedByOperator: boolean;
}

/** The fault is a sentence for the user. */
export type FoundUpstream = { readonly upstream: Upstream } | { readonly fault: string };

const apiNames: Readonly<Record<Protocol, string>> = {
  'openai-chat': "OpenAI's chat completions",
  'openai-responses': "OpenAI's responses",
  anthropic: "Anthropic's messages",
  gemini: "Google's generateContent",
};

function knownPrefixes(): string {
  return Object.keys(providers)
    .map((name) => `${name}/`)
    .join(', ');
}

/** Custom base URLs offer chat completions. They name models freely, so only known prefixes are removed. */
function customUpstream({ model, baseUrl, protocol }: Wanted): FoundUpstream {
  const url = URL.parse(baseUrl ?? '');
  if (url === null || !/^https?:$/.test(url.protocol))
    return { fault: 'llm_base_url is not an http or https URL.' };
  const [prefix = ''] = (model ?? '').split('/', 1);
  const offer =
    prefix === 'litellm_proxy' || prefix === 'ollama' ? providers[prefix]?.offers[protocol] : undefined;
  if (protocol !== 'openai-chat' && offer === undefined)
    return {
      fault: `This agent speaks ${apiNames[protocol]}, and an llm_base_url is spoken to in ${apiNames['openai-chat']}; choose another agent, or clear llm_base_url.`,
    };
  const base = url.href.replace(/\/+$/, '');
  return {
    upstream: {
      base: protocol === 'anthropic' ? base.replace(/\/v1$/, '') : base,
      model: plainModelName(model),
      name: model ?? '',
      authorization: offer?.authorization ?? 'bearer',
      keyless: true,
      custom: true,
      namedByOperator: false,
    },
  };
}

/** The preferred APIs for agents that support all of them, best first. */
const preferred: readonly Protocol[] = ['anthropic', 'gemini', 'openai-responses', 'openai-chat'];
/** Providers that offer more than one API but work best with chat completions. */
const chatProviders: readonly string[] = ['openrouter', 'ollama', 'litellm_proxy'];

/** The API that works best with the model's provider. */
export function nativeProtocol(model: string | null, baseUrl: string | null): Protocol {
  const [prefix = ''] = resolveModelName(model ?? '').split('/', 1);
  const provider = Object.hasOwn(providers, prefix) ? providers[prefix] : undefined;
  if (baseUrl || provider === undefined || chatProviders.includes(prefix)) return 'openai-chat';
  return preferred.find((protocol) => provider.offers[protocol] !== undefined) ?? 'openai-chat';
}

/** The known provider of a model, by the prefix of its name; undefined if it has none. */
export function providerOf(model: string | null): string | undefined {
  const [prefix = '', ...rest] = resolveModelName(model ?? '').split('/');
  return Object.hasOwn(providers, prefix) && rest.length > 0 ? prefix : undefined;
}

/** The providers that can have an API key of their own: those whose URL is known without a setting of the user. */
export function providersWithKeys(modelHosts: ModelHosts): string[] {
  return Object.keys(providers).filter((name) => (modelHosts[name] ?? providers[name]?.origin) !== undefined);
}

/** Says that the model has no API key, and how to store one. */
export function missingKeySentence(model: string | null): string {
  const provider = providerOf(model);
  if (provider === undefined) return 'No API key for the model is set. Set llm_api_key in your settings.';
  return `No API key of ${provider} is stored. Store it in the settings of the web UI, with "${commandName} provider-keys set ${provider}", or with PUT /api/provider-keys/${provider}.`;
}

/** The provider's name of the model, for agents. */
export function plainModelName(model: string | null): string {
  const name = resolveModelName(model ?? '');
  const [prefix = '', ...rest] = name.split('/');
  return Object.hasOwn(providers, prefix) && rest.length > 0 ? rest.join('/') : name;
}

/** The URL for requests in that API to the user's model. */
export function findUpstream(wanted: Wanted): FoundUpstream {
  const { model, baseUrl, protocol, modelHosts } = wanted;
  if (model === null || model === '')
    return { fault: 'No model is set. Set llm_model in your settings, such as anthropic/claude-sonnet-4-5.' };
  if (baseUrl !== null && baseUrl !== '') return customUpstream(wanted);
  const [prefix = '', ...rest] = resolveModelName(model).split('/');
  const provider = Object.hasOwn(providers, prefix) ? providers[prefix] : undefined;
  if (provider === undefined || rest.length === 0)
    return {
      fault: `The model has no known provider. Begin its name with one of ${knownPrefixes()} or set llm_base_url.`,
    };
  const named = modelHosts[prefix];
  const origin = named ?? provider.origin;
  if (origin === undefined) return { fault: `Models of ${prefix}/ need an llm_base_url in your settings.` };
  const offer = provider.offers[protocol];
  if (offer === undefined)
    return {
      fault: `This agent speaks ${apiNames[protocol]}, which ${prefix} does not offer. Choose another agent or model.`,
    };
  return {
    upstream: {
      base: origin + offer.base,
      model: rest.join('/'),
      name: model,
      authorization: offer.authorization,
      keyless: provider.keyless === true,
      custom: false,
      namedByOperator: named !== undefined,
    },
  };
}
