// Every option, declared once: its name in the environment, its flag, default, help and check.
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { RefusalError } from './errors.ts';
import { type GitHosts, gitHostsForm, parseGitHosts } from './git/hosts.ts';
import { modelHostsForm, parseModelHosts } from './models/hosts.ts';
import type { ModelHosts } from './models/providers.ts';
import { type PrivateAccess, parsePrivateAccess, privateHostsForm } from './outgoing/privateHosts.ts';
import { commandName } from './process/program.ts';
import { urlFault } from './validation/url.ts';

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];
export type TrustProxy = number | readonly string[];

export const roles = ['all', 'api', 'worker'] as const;
export type Role = (typeof roles)[number];

export const sandboxChoices = ['auto', 'bubblewrap', 'docker', 'process'] as const;
export type SandboxChoice = (typeof sandboxChoices)[number];

export const seccompChoices = ['on', 'off'] as const;

interface Option<Value> {
  readonly env: string;
  /** Absent for what must not be seen in a process list. */
  readonly flag?: string;
  readonly help: string;
  readonly shownDefault: string;
  readonly parse: (text: string | undefined) => Value;
}

class BadValue extends Error {}

const portMax = 65_535;
const secretKeyBytes = 32;
const presetCredentialMin = 8;
const presetCredentialMax = 512;

function option<Value>(declared: Option<Value>): Option<Value> {
  return declared;
}

function integer(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new BadValue(`must be a whole number from ${min} to ${max}`);
    return value;
  };
}

function choice<Value extends string>(known: readonly Value[]) {
  return (text: string): Value => {
    const chosen = known.find((value) => value === text);
    if (chosen === undefined) throw new BadValue(`must be one of ${known.join(', ')}`);
    return chosen;
  };
}

function zeroOrOne(text: string): boolean {
  if (text !== '0' && text !== '1') throw new BadValue('must be 0 or 1');
  return text === '1';
}

function list(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function origin(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.origin !== text.replace(/\/$/, ''))
    throw new BadValue('must be of the form https://parley.example.com, without a path');
  return url.origin;
}

function serverUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:/i.test(text) || urlFault(text) !== undefined || url.search + url.hash !== '')
    throw new BadValue('must be an http or https URL without user name, password and query');
  return url.href;
}

function presetCredential(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (text.length < presetCredentialMin || text.length > presetCredentialMax || !/^[\x21-\x7e]+$/.test(text))
    throw new BadValue(
      `must be ${presetCredentialMin} to ${presetCredentialMax} printable ASCII characters without spaces`,
    );
  return text;
}

function secretKeys(text: string | undefined): readonly Buffer[] {
  return list(text).map((item) => {
    const key = Buffer.from(item, /^[0-9a-f]{64}$/i.test(item) ? 'hex' : 'base64');
    if (key.length !== secretKeyBytes)
      throw new BadValue('must be 32 bytes in hex or base64; make one with: openssl rand -hex 32');
    return key;
  });
}

function trustProxy(text: string | undefined): TrustProxy {
  if (text === undefined) return [];
  if (/^\d+$/.test(text)) return integer(0, 32)(text);
  const named = new Set(['loopback', 'linklocal', 'uniquelocal']);
  for (const item of list(text)) {
    const [address = '', bits] = item.split('/');
    const version = isIP(address);
    const bitsGood =
      bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
    if (!named.has(item) && (version === 0 || !bitsGood))
      throw new BadValue('must be a number of hops, or addresses and CIDR ranges separated by commas');
  }
  return list(text);
}

const options = {
  host: option({
    env: 'HOST',
    flag: 'host',
    help: 'Address to listen on.',
    shownDefault: '127.0.0.1',
    parse: (text = '127.0.0.1') => text,
  }),
  port: option({
    env: 'PORT',
    flag: 'port',
    help: 'Port to listen on; 0 lets the system choose.',
    shownDefault: '3000',
    parse: (text = '3000') => integer(0, portMax)(text),
  }),
  dataDir: option({
    env: 'PARLEY_DATA_DIR',
    flag: 'data-dir',
    help: 'Folder of the database and the key files.',
    shownDefault: './data',
    parse: (text = './data') => resolve(text),
  }),
  databaseUrl: option({
    env: 'DATABASE_URL',
    help: 'PostgreSQL to use instead of SQLite: postgres://user:password@host/name',
    shownDefault: 'SQLite in the data folder',
    parse: (text) => {
      if (text !== undefined && !/^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? ''))
        throw new BadValue('must be a postgres:// URL');
      return text;
    },
  }),
  sessionApiKey: option({
    env: 'SESSION_API_KEY',
    help: "The owner's session key, any string; otherwise one is made at the first start.",
    shownDefault: 'made at the first start',
    parse: presetCredential,
  }),
  authToken: option({
    env: 'PARLEY_AUTH_TOKEN',
    help: "The owner's bearer token, any string: reads the reduced settings.",
    shownDefault: 'none',
    parse: presetCredential,
  }),
  secretKeys: option({
    env: 'PARLEY_SECRET_KEY',
    help: 'Key that seals stored secrets: 32 bytes in hex or base64. To rotate: NEW,OLD.',
    shownDefault: 'secret.key in the data folder, made at the first start',
    parse: secretKeys,
  }),
  logLevel: option({
    env: 'PARLEY_LOG_LEVEL',
    flag: 'log-level',
    help: `One of ${logLevels.join(', ')}; debug logs each request.`,
    shownDefault: 'info',
    parse: (text = 'info') => choice(logLevels)(text),
  }),
  role: option({
    env: 'PARLEY_ROLE',
    flag: 'role',
    help: 'What this process does: all, api (answers requests) or worker (runs conversations; needs DATABASE_URL).',
    shownDefault: 'all',
    parse: (text = 'all') => choice(roles)(text),
  }),
  slots: option({
    env: 'PARLEY_SLOTS',
    flag: 'slots',
    help: 'Conversations that this process runs at the same time.',
    shownDefault: '20',
    parse: (text = '20') => integer(1, 1_000)(text),
  }),
  runningMax: option({
    env: 'PARLEY_RUNNING_MAX',
    flag: 'running-max',
    help: 'Conversations of one user that run at the same time; others wait. 0 is no limit.',
    shownDefault: '10',
    parse: (text = '10') => integer(0, 1_000_000)(text),
  }),
  waitingMax: option({
    env: 'PARLEY_WAITING_MAX',
    flag: 'waiting-max',
    help: 'Conversations of one user that may wait for a worker; a creation beyond is refused. 0 is no limit.',
    shownDefault: '0 on loopback, else 1000',
    parse: (text) => (text === undefined ? undefined : integer(0, 1_000_000_000)(text)),
  }),
  sandbox: option({
    env: 'PARLEY_SANDBOX',
    flag: 'sandbox',
    help: 'What confines agents: auto, bubblewrap, docker or process (which confines nothing).',
    shownDefault: 'auto',
    parse: (text = 'auto') => choice(sandboxChoices)(text),
  }),
  seccomp: option({
    env: 'PARLEY_SECCOMP',
    flag: 'seccomp',
    help: 'Whether a seccomp filter limits the system calls of agents in bubblewrap: on, or off, which debuggers need.',
    shownDefault: 'on',
    parse: (text = 'on') => choice(seccompChoices)(text),
  }),
  sandboxImages: option({
    env: 'PARLEY_SANDBOX_IMAGES',
    flag: 'sandbox-images',
    help: 'Images of containers that users may ask for, separated by commas; the first is the usual one.',
    shownDefault: 'none: docker needs one',
    parse: list,
  }),
  gitHosts: option({
    env: 'PARLEY_GIT_HOSTS',
    flag: 'git-hosts',
    help: 'Where the repositories of a git provider are, such as github=https://git.example.com; http and private addresses are allowed here.',
    shownDefault: 'github.com, gitlab.com, bitbucket.org',
    parse: (text): GitHosts => {
      const hosts = text === undefined ? {} : parseGitHosts(text);
      if (hosts === undefined) throw new BadValue(gitHostsForm);
      return hosts;
    },
  }),
  modelHosts: option({
    env: 'PARLEY_MODEL_HOSTS',
    flag: 'model-hosts',
    help: 'Where the models of a provider are instead, such as openai=https://models.example.com; http and private addresses are allowed here.',
    shownDefault: "the providers' own",
    parse: (text): ModelHosts => {
      const hosts = text === undefined ? {} : parseModelHosts(text);
      if (hosts === undefined) throw new BadValue(modelHostsForm);
      return hosts;
    },
  }),
  searchUrl: option({
    env: 'PARLEY_SEARCH_URL',
    flag: 'search-url',
    help: 'The tool server for web search, asked with the search_api_key of the user; http and private addresses are allowed here.',
    shownDefault: 'https://mcp.tavily.com/mcp/',
    parse: (text) => (text === undefined ? undefined : serverUrl(text)),
  }),
  agentsFile: option({
    env: 'PARLEY_AGENTS_FILE',
    flag: 'agents-file',
    help: 'JSON file with profiles of further agents.',
    shownDefault: 'agents.json in the data folder, where there is one',
    parse: (text) => (text === undefined ? undefined : resolve(text)),
  }),
  pricesFile: option({
    env: 'PARLEY_PRICES_FILE',
    flag: 'prices-file',
    help: 'JSON file with prices of models, which adds to those that ship and replaces them.',
    shownDefault: 'prices.json in the data folder, where there is one',
    parse: (text) => (text === undefined ? undefined : resolve(text)),
  }),
  workspaceDays: option({
    env: 'PARLEY_WORKSPACE_DAYS',
    flag: 'workspace-days',
    help: 'Days for which the files of a stopped conversation are kept; 0 keeps them.',
    shownDefault: '30',
    parse: (text = '30') => integer(0, 100_000)(text),
  }),
  workspaceMb: option({
    env: 'PARLEY_WORKSPACE_MB',
    flag: 'workspace-mb',
    help: 'Megabytes that the files of one conversation may take.',
    shownDefault: '10000',
    parse: (text = '10000') => integer(1, 1_000_000_000)(text),
  }),
  workspaceFiles: option({
    env: 'PARLEY_WORKSPACE_FILES',
    flag: 'workspace-files',
    help: 'Files, folders and links that one conversation may have.',
    shownDefault: '1000000',
    parse: (text = '1000000') => integer(1, 1_000_000_000)(text),
  }),
  rateLimit: option({
    env: 'PARLEY_RATE_LIMIT',
    flag: 'rate-limit',
    help: 'Requests a second that one key may make; 0 is no limit.',
    shownDefault: '0 on loopback, else 100',
    parse: (text) => (text === undefined ? undefined : integer(0, 1_000_000)(text)),
  }),
  createLimit: option({
    env: 'PARLEY_CREATE_LIMIT',
    flag: 'create-limit',
    help: 'Conversations a minute that one key may create; 0 is no limit.',
    shownDefault: '0 on loopback, else 60',
    parse: (text) => (text === undefined ? undefined : integer(0, 1_000_000)(text)),
  }),
  acceptBearer: option({
    env: 'PARLEY_ACCEPT_BEARER',
    flag: 'accept-bearer',
    help: 'With 1, session keys are also taken as "Authorization: Bearer", for older clients.',
    shownDefault: '0',
    parse: (text = '0') => zeroOrOne(text),
  }),
  allowedHosts: option({
    env: 'PARLEY_ALLOWED_HOSTS',
    flag: 'allowed-hosts',
    help: 'Host names that requests may use, separated by commas.',
    shownDefault: 'loopback names on loopback, else any',
    parse: (text) => list(text).map((host) => host.toLowerCase()),
  }),
  corsOrigins: option({
    env: 'PARLEY_CORS_ORIGINS',
    flag: 'cors-origins',
    help: 'Origins of web pages that may call this service, separated by commas.',
    shownDefault: 'none but its own',
    parse: (text) => list(text).map(origin),
  }),
  publicUrl: option({
    env: 'PARLEY_PUBLIC_URL',
    flag: 'public-url',
    help: 'The address that people use, where a proxy stands in front.',
    shownDefault: 'http://HOST:PORT',
    parse: (text) => (text === undefined ? undefined : origin(text)),
  }),
  trustProxy: option({
    env: 'PARLEY_TRUST_PROXY',
    flag: 'trust-proxy',
    help: 'Proxies whose X-Forwarded-* headers count: a number of hops, or addresses and ranges.',
    shownDefault: 'none',
    parse: trustProxy,
  }),
  allowPrivateAddresses: option({
    env: 'PARLEY_ALLOW_PRIVATE_ADDRESSES',
    flag: 'allow-private-addresses',
    help: 'Private addresses that the service may connect to where users name them, such as local models: 1 (all), 0 (none), or hosts: 127.0.0.1:11434,models.internal:8000,10.1.0.0/16.',
    shownDefault: '1 on loopback, with one user and no public URL, else 0',
    parse: (text): PrivateAccess | undefined => {
      if (text === undefined) return undefined;
      const access = parsePrivateAccess(text);
      if (access === undefined) throw new BadValue(privateHostsForm);
      return access;
    },
  }),
};

type Options = typeof options;
type OptionName = keyof Options;
type Parsed = { readonly [Name in OptionName]: ReturnType<Options[Name]['parse']> };

type DerivedOption = 'rateLimit' | 'createLimit' | 'waitingMax' | 'agentsFile' | 'pricesFile';

export interface Config extends Omit<Parsed, DerivedOption> {
  readonly agentsFile: string;
  readonly pricesFile: string;
  readonly rateLimit: number;
  readonly createLimit: number;
  readonly waitingMax: number;
  readonly onLoopback: boolean;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export function isLoopbackName(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  return (
    name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name)
  );
}

function readFlags(argv: readonly string[]): Readonly<Record<string, string | undefined>> {
  const flags = Object.values(options).flatMap(({ flag }) => (flag === undefined ? [] : [flag]));
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: Object.fromEntries(flags.map((flag) => [flag, { type: 'string' as const }])),
      strict: true,
    });
    return values as Record<string, string | undefined>;
  } catch (error) {
    throw new RefusalError(`${(error as Error).message} "${commandName} serve --help" lists the options.`);
  }
}

/** Reads flags first, then the environment, where an empty value counts as absent. Throws RefusalError. */
export function readConfig(environment: Environment, argv: readonly string[] = []): Config {
  const flags = readFlags(argv);
  const parsed: Partial<Record<OptionName, unknown>> = {};
  for (const name of Object.keys(options) as OptionName[]) {
    const { env, flag, parse } = options[name] as Option<unknown>;
    const text = (flag === undefined ? undefined : flags[flag]) ?? (environment[env] || undefined);
    try {
      parsed[name] = parse(text);
    } catch (error) {
      if (!(error instanceof BadValue)) throw error;
      throw new RefusalError(`${env} ${error.message}.`);
    }
  }
  const values = parsed as Parsed;
  if (values.role === 'worker' && values.databaseUrl === undefined)
    throw new RefusalError(
      'PARLEY_ROLE=worker needs DATABASE_URL: SQLite can be used by one process alone, which is then both.',
    );
  const onLoopback = isLoopbackName(values.host);
  return {
    ...values,
    onLoopback,
    agentsFile: values.agentsFile ?? join(values.dataDir, 'agents.json'),
    pricesFile: values.pricesFile ?? join(values.dataDir, 'prices.json'),
    rateLimit: values.rateLimit ?? (onLoopback ? 0 : 100),
    createLimit: values.createLimit ?? (onLoopback ? 0 : 60),
    waitingMax: values.waitingMax ?? (onLoopback ? 0 : 1_000),
  };
}

/** The options as aligned lines for `--help`. */
export function describeOptions(): string {
  const heads = Object.values(options).map(({ env, flag }: Option<unknown>) =>
    flag === undefined ? env : `${env}, --${flag}`,
  );
  const width = Math.max(...heads.map((head) => head.length));
  return Object.values(options)
    .map(
      ({ help, shownDefault }, i) =>
        `  ${(heads[i] ?? '').padEnd(width)}  ${help}\n  ${''.padEnd(width)}  Default: ${shownDefault}.`,
    )
    .join('\n');
}
