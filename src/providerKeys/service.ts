// API keys of model providers, which are part of a user's settings, and the rule that says which URL and key a model
// uses. A key only ever goes to the URL that it was stored for.
import { AppError, invalid } from '../errors.ts';
import { mask } from '../mcp/secrets.ts';
import { resolveModelName } from '../models/names.ts';
import type { Protocol } from '../models/protocols.ts';
import {
  findUpstream,
  type ModelHosts,
  missingKeySentence,
  nativeProtocol,
  providerOf,
  providers,
  providersWithKeys,
} from '../models/providers.ts';
import type { FullSettings } from '../settings/schema.ts';
import type { Settings, Writer } from '../settings/service.ts';
import type { ProviderKey, ProviderKeyList } from './schema.ts';

/** The kind of secret under which a key is stored, by the name of its provider. */
export const providerKeyKind = 'provider_key';

/** The settings with the model and base URL that apply, and the key that belongs to them. */
export interface ChosenModel {
  readonly settings: FullSettings;
  readonly key: string | undefined;
}

interface ProviderKeysOptions {
  readonly settings: Settings;
  readonly modelHosts: ModelHosts;
}

export type ProviderKeys = ReturnType<typeof createProviderKeys>;

const isSameModel = (a: string, b: string | null) =>
  b !== null && resolveModelName(a) === resolveModelName(b);

function describe(provider: string, isSet: boolean): ProviderKey {
  return { provider, is_set: isSet, is_required: providers[provider]?.keyless !== true };
}

export function createProviderKeys({ settings, modelHosts }: ProviderKeysOptions) {
  const known = providersWithKeys(modelHosts);

  function checkProvider(provider: string): void {
    if (!known.includes(provider))
      throw new AppError('not_found', `There is no such provider. Known providers: ${known.join(', ')}.`);
  }

  async function list(userId: number): Promise<ProviderKeyList> {
    const stored = await settings.secretNames(userId, providerKeyKind);
    return {
      provider_keys: known.map((provider) => describe(provider, stored.includes(provider))),
    };
  }

  async function get(userId: number, provider: string): Promise<ProviderKey> {
    checkProvider(provider);
    const stored = await settings.secretNames(userId, providerKeyKind);
    return describe(provider, stored.includes(provider));
  }

  /** Stores the key, and replaces the one that was stored. */
  async function set(writer: Writer, provider: string, key: string): Promise<ProviderKey> {
    checkProvider(provider);
    if (key === mask) throw invalid([{ path: 'api_key', message: 'must not be a mask' }]);
    await settings.change(writer, async (rows) => ({
      document: JSON.parse(rows.document),
      secrets: [
        {
          kind: providerKeyKind,
          name: provider,
          host: null,
          description: null,
          sealed: settings.sealSecret(writer.userId, providerKeyKind, provider, key),
        },
      ],
      audit: [{ action: 'secret.set', subject: `${providerKeyKind} ${provider}` }],
    }));
    return describe(provider, true);
  }

  /** Throws `not_found` if no key is stored. */
  async function remove(writer: Writer, provider: string): Promise<ProviderKey> {
    checkProvider(provider);
    await settings.change(writer, async (rows) => {
      if (!rows.secrets.some(({ kind, name }) => kind === providerKeyKind && name === provider))
        throw new AppError('not_found', 'No API key of this provider is stored.');
      return {
        document: JSON.parse(rows.document),
        secrets: [{ kind: providerKeyKind, name: provider, sealed: null }],
        audit: [{ action: 'secret.remove', subject: `${providerKeyKind} ${provider}` }],
      };
    });
    return describe(provider, false);
  }

  const keyOf = async (userId: number, provider: string | undefined) =>
    provider === undefined || !known.includes(provider)
      ? undefined
      : settings.openSecret(userId, providerKeyKind, provider);

  /**
   * The model of a conversation: its own, or the one in the settings if it has none. `llm_base_url` and `llm_api_key`
   * belong to the model in the settings and to others of its provider; the key of a provider belongs to its own URL.
   */
  async function modelOf(userId: number, own: string | null): Promise<ChosenModel> {
    const { settings: full, openOperatorSecret } = await settings.readEffective(userId);
    const { llm_model: settingsModel, llm_base_url: baseUrl } = full;
    const ownKey = () => settings.openSecret(userId, 'llm_api_key', '');
    // Undefined if the base URL is the user's.
    const operatorKey = () => openOperatorSecret('llm_api_key');
    const provider = providerOf(own ?? settingsModel);
    if (own === null || isSameModel(own, settingsModel)) {
      const key =
        (await ownKey()) ?? (baseUrl ? undefined : await keyOf(userId, provider)) ?? (await operatorKey());
      return { settings: { ...full, llm_model: own ?? settingsModel }, key };
    }
    const key = await keyOf(userId, provider);
    if (key !== undefined) return { settings: { ...full, llm_model: own, llm_base_url: null }, key };
    // A model without a known provider can only be at the base URL in the settings.
    const isShared = provider === undefined || provider === providerOf(settingsModel);
    return isShared
      ? { settings: { ...full, llm_model: own }, key: (await ownKey()) ?? (await operatorKey()) }
      : { settings: { ...full, llm_model: own, llm_base_url: null }, key: undefined };
  }

  /** Why the user cannot use this model with an agent that speaks this protocol; undefined if they can. */
  async function findModelFault(
    userId: number,
    model: string,
    protocol: Protocol | 'any',
  ): Promise<AppError | undefined> {
    const { settings: chosen, key } = await modelOf(userId, model);
    const { llm_base_url: baseUrl } = chosen;
    const spoken = protocol === 'any' ? nativeProtocol(model, baseUrl) : protocol;
    const found = findUpstream({ model, baseUrl, protocol: spoken, modelHosts });
    const path = 'llm_model';
    if ('fault' in found)
      return new AppError('invalid', found.fault, { details: [{ path, message: found.fault }] });
    if (key !== undefined || found.upstream.keyless) return undefined;
    const message = missingKeySentence(model);
    return new AppError('provider_key_missing', message, { details: [{ path, message }] });
  }

  /** The values of all keys, so that they can be masked. */
  async function listValues(userId: number): Promise<string[]> {
    const names = await settings.secretNames(userId, providerKeyKind);
    const values = await Promise.all(names.map((name) => settings.openSecret(userId, providerKeyKind, name)));
    return values.filter((value) => value !== undefined);
  }

  return { list, get, set, remove, modelOf, findModelFault, listValues };
}
