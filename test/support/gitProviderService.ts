// The service beside fake Git providers, whose tokens the owner has stored.
import type { GitProvider } from '../../src/git/providers.ts';
import { type FakeProvider, listenAsProvider, providerToken } from './gitProvider.ts';
import { type ServiceOptions, startService, type TestService } from './service.ts';

interface After {
  after(fn: () => Promise<void>): void;
}

export interface ProviderService {
  readonly service: TestService;
  readonly fake: FakeProvider;
  readonly fakes: readonly FakeProvider[];
}

export async function startWithProviders(
  t: After,
  providers: readonly [GitProvider, ...GitProvider[]],
  options: ServiceOptions & { readonly token?: string } = {},
): Promise<ProviderService> {
  const { token = providerToken, ...serviceOptions } = options;
  const fakes = await Promise.all(providers.map((provider) => listenAsProvider(t, provider)));
  const hosts = fakes.map(({ provider, url }) => `${provider}=${url}`).join(',');
  const service = await startService(
    { ...serviceOptions, env: { PARLEY_GIT_HOSTS: hosts, ...options.env } },
    t,
  );
  const provider_tokens = Object.fromEntries(providers.map((provider) => [provider, { token }]));
  await service.ask('/api/add-git-providers', { json: { provider_tokens } });
  const [fake] = fakes;
  if (fake === undefined) throw new Error('no provider');
  return { service, fake, fakes };
}
