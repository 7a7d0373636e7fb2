// Checks the model: whether one is chosen and has its API key, and whether its server can be reached.
import { connect } from 'node:net';
import type { Settings } from '../../client/parley.ts';
import type { Config } from '../../config.ts';
import { providerOf as knownProviderOf, type ModelHosts, providers } from '../../models/providers.ts';
import { OutgoingError } from '../../outgoing/errors.ts';
import { createPrivateAddressRule, findPrivateAddressNote } from '../../outgoing/privateAddresses.ts';
import { describeHosts, type PrivateAccess } from '../../outgoing/privateHosts.ts';
import { checkUrl, portOf } from '../../outgoing/resolve.ts';
import { commandName } from '../../process/program.ts';
import { type Finding, note, ok, wrong } from './finding.ts';
import type { CheckedSettings } from './service.ts';

const connectMsMax = 5_000;

/** Why no connection is possible, or undefined if one is. Nothing is sent. */
function connectFault({ hostname, port, protocol }: URL): Promise<string | undefined> {
  return new Promise((resolve) => {
    const end = (fault?: string) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(fault);
    };
    const timer = setTimeout(() => end('timeout'), connectMsMax);
    const defaultPort = protocol === 'https:' ? 443 : 80;
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || defaultPort) });
    socket.once('connect', () => end());
    socket.once('error', ({ code }: NodeJS.ErrnoException) => end(code ?? 'failed'));
  });
}

/** Reports whether the service may connect to private addresses, which local models need. */
export async function checkPrivateAddresses(
  config: Config,
  hasOneUser: () => Promise<boolean>,
): Promise<{ finding: Finding; access: PrivateAccess }> {
  const access = await createPrivateAddressRule({ config, hasOneUser })();
  const why = await findPrivateAddressNote({ config, hasOneUser });
  if (why !== undefined) {
    const remedy = 'See "Outgoing connections" in docs/configuration.md.';
    return { finding: note('addresses', `${why}.`, remedy), access };
  }
  const which =
    typeof access !== 'boolean'
      ? `The private addresses of ${describeHosts(access)} can be reached.`
      : access
        ? 'Private addresses, such as those of local models, can be reached.'
        : 'No private address can be reached, as PARLEY_ALLOW_PRIVATE_ADDRESSES=0 asks for.';
  return { finding: ok('addresses', which), access };
}

/** The reason why the service refuses to connect to the URL, if it does. */
async function refusal(url: URL, access: PrivateAccess): Promise<string | undefined> {
  try {
    await checkUrl(url, access);
    return undefined;
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error;
    // An unknown host name is reported by the connection attempt itself.
    return error.code === 'address_not_allowed' ? error.message : undefined;
  }
}

const providerOf = (model: string) => knownProviderOf(model) ?? '';

async function checkServer(
  settings: Settings,
  modelHosts: ModelHosts,
  access: PrivateAccess,
): Promise<Finding | undefined> {
  const { llm_model: model, llm_base_url: baseUrl } = settings;
  const provider = providerOf(model ?? '');
  const address = baseUrl || modelHosts[provider] || providers[provider]?.origin;
  const url = URL.parse(address ?? '');
  if (url === null) return undefined;
  const namedByOperator = !baseUrl && modelHosts[provider] !== undefined;
  const refused = namedByOperator ? undefined : await refusal(url, access);
  if (refused !== undefined)
    return wrong(
      'model',
      `${model} is at ${url.origin}. ${refused}`,
      `Start the service with PARLEY_ALLOW_PRIVATE_ADDRESSES=${url.hostname}:${portOf(url)} in its environment.`,
    );
  const fault = await connectFault(url);
  if (fault === undefined) return undefined;
  const remedy = baseUrl
    ? `Start the model server, or change its URL: ${commandName} settings set llm_base_url URL`
    : 'Check the network of this machine, or set llm_base_url or PARLEY_MODEL_HOSTS to the right URL.';
  return wrong('model', `${model} should be at ${url.origin}, where nothing answers (${fault}).`, remedy);
}

/** `modelHosts` is undefined if the service is on another machine, whose network may differ from that of this one. */
export async function checkModel(
  settings: CheckedSettings | undefined,
  modelHosts: ModelHosts | undefined,
  access: PrivateAccess,
): Promise<Finding> {
  if (settings === undefined)
    return note(
      'model',
      'It is not known yet whether a model is set.',
      'Run this command again when the service runs, with PARLEY_KEY or with the environment of the service.',
    );
  const { llm_model: model, llm_base_url: baseUrl, providerKeys } = settings;
  if (model === null)
    return wrong(
      'model',
      'No model is set.',
      `Choose one: ${commandName} settings set llm_model anthropic/claude-sonnet-4-5`,
    );
  const hasKey = settings.llm_api_key_set || (!baseUrl && providerKeys.includes(providerOf(model)));
  const keyless = providers[providerOf(model)]?.keyless === true || (baseUrl ?? '') !== '';
  if (!hasKey && !keyless)
    return wrong(
      'model',
      `${model} is set, but it has no API key.`,
      providerOf(model) === ''
        ? `Set it: ${commandName} settings set llm_api_key < FILE`
        : `Set it: ${commandName} provider-keys set ${providerOf(model)}`,
    );
  const fault = modelHosts === undefined ? undefined : await checkServer(settings, modelHosts, access);
  return fault ?? ok('model', `${model} is set, ${hasKey ? 'with' : 'without'} an API key.`);
}
