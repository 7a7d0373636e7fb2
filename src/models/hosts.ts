// Model hosts that an operator configures instead of a provider's own, such as a proxy.
import { type ModelHosts, providers } from './providers.ts';

export const modelHostsForm = `must be of the form openai=https://models.example.com, without a path, several separated by commas; providers are ${Object.keys(providers).join(', ')}`;

/** Parses `openai=https://models.example.com,anthropic=http://10.0.0.5:8000`. Returns undefined if it is not valid. */
export function parseModelHosts(text: string): ModelHosts | undefined {
  const hosts: Record<string, string> = {};
  for (const item of text.split(',')) {
    const [provider = '', ...rest] = item.trim().split('=');
    const url = URL.parse(rest.join('='));
    const good = url !== null && /^https?:$/.test(url.protocol) && /^\/?$/.test(url.pathname + url.search);
    if (!good || !Object.hasOwn(providers, provider) || Object.hasOwn(hosts, provider)) return undefined;
    hosts[provider] = url.origin;
  }
  return hosts;
}
