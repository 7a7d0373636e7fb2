// Which model providers have an API key, and whether a model can be used with the keys that are stored.
import { useQuery } from '@tanstack/react-query';
import { useParley } from './session.tsx';
import { useSettings } from './settings.ts';

export const providerKeysKey = ['provider-keys'];

export function useProviderKeys({ enabled = true } = {}) {
  const parley = useParley();
  return useQuery({
    queryKey: providerKeysKey,
    queryFn: ({ signal }) => parley.providerKeys.list({ signal }),
    enabled,
  });
}

function providerOf(model: string): string {
  return model.includes('/') ? model.slice(0, model.indexOf('/')) : '';
}

/** Whether models are paid by the operator's API key, because the user has none. */
export function useOperatorKey(): boolean {
  const parley = useParley();
  const { data: settings, dataUpdatedAt } = useSettings();
  const { data: fields } = useQuery({
    // The answer changes with the settings.
    queryKey: ['settings-defaults', dataUpdatedAt],
    queryFn: ({ signal }) => parley.settings.defaults({ signal }),
    enabled: settings?.llm_api_key_set === true,
  });
  return fields?.includes('llm_api_key') ?? false;
}

/** The provider whose stored API key the model in the settings uses, because it has no key of its own. */
export function useKeyOfProvider(): string | undefined {
  const { data: settings } = useSettings();
  const { data: keys } = useProviderKeys({ enabled: settings !== undefined });
  if (settings === undefined || settings.llm_api_key_set || settings.llm_base_url) return undefined;
  const provider = providerOf(settings.llm_model ?? '');
  return keys?.provider_keys.some((one) => one.provider === provider && one.is_set) ? provider : undefined;
}

/**
 * Returns a function that names the provider whose API key a model lacks. The empty name means the model in the settings.
 * It returns undefined if the model has a key, or if that is not known.
 */
export function useMissingKey(): (model: string) => string | undefined {
  const { data: settings } = useSettings();
  // Whoever may not read the settings may not read this either.
  const { data: keys } = useProviderKeys({ enabled: settings !== undefined });
  return (model) => {
    if (settings === undefined) return undefined;
    const { llm_model: ofSettings, llm_api_key_set: hasKey, llm_base_url: baseUrl } = settings;
    const provider = providerOf(model.trim() || (ofSettings ?? ''));
    const isOfSettings = provider === providerOf(ofSettings ?? '');
    if (isOfSettings && (hasKey || baseUrl)) return undefined;
    const stored = keys?.provider_keys.find((one) => one.provider === provider);
    return stored?.is_required && !stored.is_set ? provider : undefined;
  };
}
