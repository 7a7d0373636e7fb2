// Every option of the service, declared once: its environment variable, flag, default, help and check.
import { accessSync, constants } from 'node:fs';
import { isIP } from 'node:net';
import { isAbsolute, join, resolve } from 'node:path';
import { type BlobLocation, parseBlobLocation } from './blobs/location.ts';
import { RefusalError } from './errors.ts';
import { type GitHosts, gitHostsForm, parseGitHosts } from './git/hosts.ts';
import { modelHostsForm, parseModelHosts } from './models/hosts.ts';
import type { ModelHosts } from './models/providers.ts';
import { type PrivateAccess, parsePrivateAccess, privateHostsForm } from './outgoing/privateHosts.ts';
import { urlFault } from './validation/url.ts';

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];
export type TrustProxy = number | readonly string[];

export const roles = ['all', 'api', 'worker'] as const;
export type Role = (typeof roles)[number];

export const sandboxChoices = ['auto', 'bubblewrap', 'docker', 'process'] as const;
export type SandboxChoice = (typeof sandboxChoices)[number];

export const seccompChoices = ['on', 'off'] as const;

export const otlpProtocols = ['http/protobuf', 'http/json'] as const;
export const tracesSamplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type TracesSampler = (typeof tracesSamplers)[number];

/** What the help shows of an option. */
export interface OptionInfo {
  readonly env: string;
  /** Absent for secrets, because every user of a machine can see the flags of a process. */
  readonly flag?: string;
  /** The heading under which the help lists it. */
  readonly group: string;
  /** The name of the value in the help, such as PORT. */
  readonly value?: string;
  readonly choices?: readonly string[];
  readonly help: string;
  readonly shownDefault: string;
}

interface Option<Value> extends OptionInfo {
  readonly parse: (text: string | undefined) => Value;
}

class BadValue extends Error {}

export const databaseConnectionsDefault = 10;
const databaseConnectionsMax = 1_000;
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

function share(text: string): number {
  const value = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || value > 1) throw new BadValue('must be a number from 0 to 1');
  return value;
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
      throw new BadValue('must be 32 bytes in hex or base64; create one with: openssl rand -hex 32');
    return key;
  });
}

/** A file that the operator has named must be there. */
function namedFile(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const file = resolve(text);
  try {
    accessSync(file, constants.R_OK);
    return file;
  } catch (error) {
    throw new BadValue(`names ${file}, which cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Separated by colons, as in PATH. */
function absoluteFolders(text: string | undefined): readonly string[] {
  const folders = (text ?? '').split(':').filter((folder) => folder !== '');
  if (!folders.every(isAbsolute)) throw new BadValue('must be absolute paths, separated by colons');
  return folders.map((folder) => resolve(folder));
}

/** An absolute path, or a bucket of S3. */
function snapshotStore(text: string | undefined): BlobLocation | undefined {
  if (text === undefined) return undefined;
  const location = parseBlobLocation(text);
  if (location === undefined)
    throw new BadValue('must be an absolute path, or of the form s3://bucket/prefix');
  return location;
}

const commandForm = 'must be the absolute path of a program, or a JSON list of it and its arguments';

function parseWords(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A program with its arguments, which is run without a shell. */
function command(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const words: unknown = text.startsWith('[') ? parseWords(text) : [text];
  const isWord = (word: unknown): word is string => typeof word === 'string' && !word.includes('\0');
  if (!Array.isArray(words) || !words.every(isWord)) throw new BadValue(commandForm);
  const [program = ''] = words;
  if (!isAbsolute(program)) throw new BadValue(commandForm);
  try {
    accessSync(program, constants.X_OK);
    return words;
  } catch (error) {
    throw new BadValue(`names ${program}, which cannot be run (${(error as NodeJS.ErrnoException).code})`);
  }
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
    group: 'Listening',
    value: 'ADDRESS',
    help: 'The address to listen on.',
    shownDefault: '127.0.0.1',
    parse: (text = '127.0.0.1') => text,
  }),
  port: option({
    env: 'PORT',
    flag: 'port',
    group: 'Listening',
    value: 'PORT',
    help: 'The port to listen on. 0 lets the system choose.',
    shownDefault: '3000',
    parse: (text = '3000') => integer(0, portMax)(text),
  }),
  dataDir: option({
    env: 'PARLEY_DATA_DIR',
    flag: 'data-dir',
    group: 'Data',
    value: 'FOLDER',
    help: 'The folder for the database, workspaces and key files.',
    shownDefault: './data',
    parse: (text = './data') => resolve(text),
  }),
  databaseUrl: option({
    env: 'DATABASE_URL',
    group: 'Data',
    help: 'Use PostgreSQL instead of SQLite: a URL such as postgres://user:password@host/name.',
    shownDefault: 'SQLite in the data folder',
    parse: (text) => {
      if (text !== undefined && !/^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? ''))
        throw new BadValue('must be a postgres:// URL');
      return text;
    },
  }),
  databaseConnections: option({
    env: 'PARLEY_DATABASE_CONNECTIONS',
    flag: 'database-connections',
    group: 'Data',
    value: 'N',
    help: 'How many connections to PostgreSQL this process opens at most, besides the one that listens for notifications.',
    shownDefault: String(databaseConnectionsDefault),
    parse: (text = String(databaseConnectionsDefault)) => integer(2, databaseConnectionsMax)(text),
  }),
  sessionApiKey: option({
    env: 'SESSION_API_KEY',
    group: 'Keys and secrets',
    help: `The API key of the owner: ${presetCredentialMin} to ${presetCredentialMax} printable ASCII characters without spaces.`,
    shownDefault: 'created at the first start',
    parse: presetCredential,
  }),
  authToken: option({
    env: 'PARLEY_AUTH_TOKEN',
    group: 'Keys and secrets',
    help: 'A bearer token of the owner, which can only read a part of the settings.',
    shownDefault: 'none',
    parse: presetCredential,
  }),
  secretKeys: option({
    env: 'PARLEY_SECRET_KEY',
    group: 'Keys and secrets',
    help: 'The key that encrypts stored secrets: 32 bytes in hex or base64. To rotate it, set NEW,OLD.',
    shownDefault: 'secret.key in the data folder, created at the first start',
    parse: secretKeys,
  }),
  logLevel: option({
    env: 'PARLEY_LOG_LEVEL',
    flag: 'log-level',
    group: 'Logging',
    value: 'LEVEL',
    choices: logLevels,
    help: `The log level: ${logLevels.join(', ')}. debug logs every request.`,
    shownDefault: 'info',
    parse: (text = 'info') => choice(logLevels)(text),
  }),
  role: option({
    env: 'PARLEY_ROLE',
    flag: 'role',
    group: 'Worker',
    value: 'ROLE',
    choices: roles,
    help: 'What this process does: all, api (answers requests) or worker (runs conversations; needs DATABASE_URL).',
    shownDefault: 'all',
    parse: (text = 'all') => choice(roles)(text),
  }),
  slots: option({
    env: 'PARLEY_SLOTS',
    flag: 'slots',
    group: 'Worker',
    value: 'N',
    help: 'Worker slots: how many conversations this process runs at the same time.',
    shownDefault: '20',
    parse: (text = '20') => integer(1, 1_000)(text),
  }),
  runningMax: option({
    env: 'PARLEY_RUNNING_MAX',
    flag: 'running-max',
    group: 'Worker',
    value: 'N',
    help: 'How many conversations of one user run at the same time; others wait. 0 means no limit.',
    shownDefault: '10',
    parse: (text = '10') => integer(0, 1_000_000)(text),
  }),
  unattendedS: option({
    env: 'PARLEY_UNATTENDED_S',
    flag: 'unattended-s',
    group: 'Worker',
    value: 'SECONDS',
    help: 'How long a conversation that nobody follows stays running after its agent has finished. 0 means until it is idle for an hour.',
    shownDefault: '120',
    parse: (text = '120') => integer(0, 1_000_000)(text),
  }),
  waitingMax: option({
    env: 'PARLEY_WAITING_MAX',
    flag: 'waiting-max',
    group: 'Worker',
    value: 'N',
    help: 'How many conversations of one user may wait for a worker; more are refused. 0 means no limit.',
    shownDefault: '0 on loopback, otherwise 1000',
    parse: (text) => (text === undefined ? undefined : integer(0, 1_000_000_000)(text)),
  }),
  sandbox: option({
    env: 'PARLEY_SANDBOX',
    flag: 'sandbox',
    group: 'Sandbox',
    value: 'SANDBOX',
    choices: sandboxChoices,
    help: 'What isolates agents: auto, bubblewrap, docker or process (no isolation).',
    shownDefault: 'auto',
    parse: (text = 'auto') => choice(sandboxChoices)(text),
  }),
  seccomp: option({
    env: 'PARLEY_SECCOMP',
    flag: 'seccomp',
    group: 'Sandbox',
    value: 'on|off',
    choices: seccompChoices,
    help: 'Filter the system calls of agents in bubblewrap. Debuggers need off.',
    shownDefault: 'on',
    parse: (text = 'on') => choice(seccompChoices)(text),
  }),
  sandboxImages: option({
    env: 'PARLEY_SANDBOX_IMAGES',
    flag: 'sandbox-images',
    group: 'Sandbox',
    value: 'IMAGES',
    help: 'The container images that users can choose from, separated by commas. The first one is the default.',
    shownDefault: 'none; docker needs one',
    parse: list,
  }),
  gitHosts: option({
    env: 'PARLEY_GIT_HOSTS',
    flag: 'git-hosts',
    group: 'Agents and models',
    value: 'HOSTS',
    help: 'The URL of a git provider, such as github=https://git.example.com. http and private addresses are allowed here.',
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
    group: 'Agents and models',
    value: 'HOSTS',
    help: 'The URL of a model provider, such as openai=https://models.example.com. http and private addresses are allowed here.',
    shownDefault: "the provider's own",
    parse: (text): ModelHosts => {
      const hosts = text === undefined ? {} : parseModelHosts(text);
      if (hosts === undefined) throw new BadValue(modelHostsForm);
      return hosts;
    },
  }),
  searchUrl: option({
    env: 'PARLEY_SEARCH_URL',
    flag: 'search-url',
    group: 'Agents and models',
    value: 'URL',
    help: "The MCP server for web search, used with the user's search_api_key. http and private addresses are allowed here.",
    shownDefault: 'https://mcp.tavily.com/mcp/',
    parse: (text) => (text === undefined ? undefined : serverUrl(text)),
  }),
  agentsFile: option({
    env: 'PARLEY_AGENTS_FILE',
    flag: 'agents-file',
    group: 'Agents and models',
    value: 'FILE',
    help: 'A JSON file with profiles of more agents.',
    shownDefault: 'agents.json in the data folder, if it exists',
    parse: namedFile,
  }),
  pricesFile: option({
    env: 'PARLEY_PRICES_FILE',
    flag: 'prices-file',
    group: 'Agents and models',
    value: 'FILE',
    help: 'A JSON file with model prices, which add to or replace the built-in ones.',
    shownDefault: 'prices.json in the data folder, if it exists',
    parse: namedFile,
  }),
  notifyCommand: option({
    env: 'PARLEY_NOTIFY_COMMAND',
    flag: 'notify-command',
    group: 'Agents and models',
    value: 'COMMAND',
    help: 'The program to run when an agent needs approval: its absolute path, or a JSON list of it and its arguments.',
    shownDefault: 'none',
    parse: command,
  }),
  localFolders: option({
    env: 'PARLEY_LOCAL_FOLDERS',
    flag: 'local-folders',
    group: 'Workspaces',
    value: 'FOLDERS',
    help: 'Folders of this machine in which agents may work directly, with everything below them, separated by colons. For a single user on loopback, with bubblewrap and SQLite.',
    shownDefault: 'none',
    parse: absoluteFolders,
  }),
  workspaceDays: option({
    env: 'PARLEY_WORKSPACE_DAYS',
    flag: 'workspace-days',
    group: 'Workspaces',
    value: 'DAYS',
    help: 'How many days the files of a stopped conversation are kept. 0 keeps them forever.',
    shownDefault: '30',
    parse: (text = '30') => integer(0, 100_000)(text),
  }),
  workspaceMb: option({
    env: 'PARLEY_WORKSPACE_MB',
    flag: 'workspace-mb',
    group: 'Workspaces',
    value: 'MB',
    help: 'How many megabytes the files of one conversation may take.',
    shownDefault: '10000',
    parse: (text = '10000') => integer(1, 1_000_000_000)(text),
  }),
  workspaceFiles: option({
    env: 'PARLEY_WORKSPACE_FILES',
    flag: 'workspace-files',
    group: 'Workspaces',
    value: 'N',
    help: 'How many files, folders and links one conversation may have.',
    shownDefault: '1000000',
    parse: (text = '1000000') => integer(1, 1_000_000_000)(text),
  }),
  snapshots: option({
    env: 'PARLEY_SNAPSHOTS',
    flag: 'snapshots',
    group: 'Workspaces',
    value: 'FOLDER|s3://BUCKET/PREFIX',
    help: 'Where the files of conversations are stored after each turn, encrypted, so that another machine can go on with them: a folder that all machines share, or S3.',
    shownDefault: 'none; the files stay on the machine that runs the conversation',
    parse: snapshotStore,
  }),
  snapshotMb: option({
    env: 'PARLEY_SNAPSHOT_MB',
    flag: 'snapshot-mb',
    group: 'Workspaces',
    value: 'MB',
    help: 'How many megabytes the snapshot of one conversation may have before compression. What does not fit is left out, and the log names it.',
    shownDefault: '1000',
    parse: (text = '1000') => integer(1, 100_000)(text),
  }),
  snapshotFiles: option({
    env: 'PARLEY_SNAPSHOT_FILES',
    flag: 'snapshot-files',
    group: 'Workspaces',
    value: 'N',
    help: 'How many files, folders and links the snapshot of one conversation may have.',
    shownDefault: '100000',
    parse: (text = '100000') => integer(1, 1_000_000)(text),
  }),
  rateLimit: option({
    env: 'PARLEY_RATE_LIMIT',
    flag: 'rate-limit',
    group: 'Requests',
    value: 'N',
    help: 'How many requests per second one key may send. 0 means no limit.',
    shownDefault: '0 on loopback, otherwise 100',
    parse: (text) => (text === undefined ? undefined : integer(0, 1_000_000)(text)),
  }),
  createLimit: option({
    env: 'PARLEY_CREATE_LIMIT',
    flag: 'create-limit',
    group: 'Requests',
    value: 'N',
    help: 'How many conversations per minute one key may create. 0 means no limit.',
    shownDefault: '0 on loopback, otherwise 60',
    parse: (text) => (text === undefined ? undefined : integer(0, 1_000_000)(text)),
  }),
  streamsMax: option({
    env: 'PARLEY_STREAMS_MAX',
    flag: 'streams-max',
    group: 'Requests',
    value: 'N',
    help: 'How many streams and sockets one user may have open. 0 means no limit.',
    shownDefault: '2000',
    parse: (text = '2000') => integer(0, 1_000_000)(text),
  }),
  acceptBearer: option({
    env: 'PARLEY_ACCEPT_BEARER',
    flag: 'accept-bearer',
    group: 'Requests',
    value: '0|1',
    help: '1 also accepts API keys as "Authorization: Bearer", for older clients.',
    shownDefault: '0',
    parse: (text = '0') => zeroOrOne(text),
  }),
  v0: option({
    env: 'PARLEY_V0',
    flag: 'v0',
    group: 'Requests',
    value: '0|1',
    help: 'Whether the service has what only clients of the V0 API need: socket.io and /api/user.',
    shownDefault: '1',
    parse: (text = '1') => zeroOrOne(text),
  }),
  withoutKey: option({
    env: 'PARLEY_WITHOUT_KEY',
    flag: 'without-key',
    group: 'Requests',
    value: '0|1',
    help: '1 lets requests without an API key act as the owner, for scripts that send none. Only on loopback: every program of this machine can then use the service.',
    shownDefault: '0',
    parse: (text = '0') => zeroOrOne(text),
  }),
  allowedHosts: option({
    env: 'PARLEY_ALLOWED_HOSTS',
    flag: 'allowed-hosts',
    group: 'Requests',
    value: 'HOSTS',
    help: 'The host names that requests may use, separated by commas.',
    shownDefault: 'loopback names on loopback, otherwise any',
    parse: (text) => list(text).map((host) => host.toLowerCase()),
  }),
  corsOrigins: option({
    env: 'PARLEY_CORS_ORIGINS',
    flag: 'cors-origins',
    group: 'Requests',
    value: 'ORIGINS',
    help: 'The origins of other web pages that may call this service, separated by commas.',
    shownDefault: 'none',
    parse: (text) => list(text).map(origin),
  }),
  publicUrl: option({
    env: 'PARLEY_PUBLIC_URL',
    flag: 'public-url',
    group: 'Requests',
    value: 'URL',
    help: 'The URL that people use, if a proxy is in front of the service.',
    shownDefault: 'http://HOST:PORT',
    parse: (text) => (text === undefined ? undefined : origin(text)),
  }),
  nodeUrl: option({
    env: 'PARLEY_NODE_URL',
    flag: 'node-url',
    group: 'Requests',
    value: 'URL',
    help: 'With PostgreSQL: the URL under which the other processes reach this one.',
    shownDefault: 'http://HOST:PORT, with the host name of the machine if HOST is 0.0.0.0 or ::',
    parse: (text) => (text === undefined ? undefined : origin(text)),
  }),
  drainS: option({
    env: 'PARLEY_DRAIN_S',
    flag: 'drain-s',
    group: 'Listening',
    value: 'SECONDS',
    help: 'How long requests are still accepted after SIGTERM, while /ready is 503, so that a load balancer notices.',
    shownDefault: '0',
    parse: (text = '0') => integer(0, 3_600)(text),
  }),
  metricsPort: option({
    env: 'PARLEY_METRICS_PORT',
    flag: 'metrics-port',
    group: 'Listening',
    value: 'PORT',
    help: 'A port for /metrics without an API key, on PARLEY_METRICS_HOST.',
    shownDefault: 'none; /metrics of the service needs an API key with the scope admin',
    parse: (text) => (text === undefined ? undefined : integer(0, portMax)(text)),
  }),
  metricsHost: option({
    env: 'PARLEY_METRICS_HOST',
    flag: 'metrics-host',
    group: 'Listening',
    value: 'ADDRESS',
    help: 'The address for PARLEY_METRICS_PORT.',
    shownDefault: '127.0.0.1',
    parse: (text = '127.0.0.1') => text,
  }),
  otlpEndpoint: option({
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    flag: 'otlp-endpoint',
    group: 'Traces',
    value: 'URL',
    help: 'A collector of OpenTelemetry that gets traces with OTLP over HTTP, such as http://127.0.0.1:4318.',
    shownDefault: 'none; there are no traces',
    parse: (text) => (text === undefined ? undefined : serverUrl(text)),
  }),
  otlpTracesEndpoint: option({
    env: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    flag: 'otlp-traces-endpoint',
    group: 'Traces',
    value: 'URL',
    help: 'The whole URL for traces, if it is not v1/traces below OTEL_EXPORTER_OTLP_ENDPOINT.',
    shownDefault: 'none',
    parse: (text) => (text === undefined ? undefined : serverUrl(text)),
  }),
  otlpProtocol: option({
    env: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    flag: 'otlp-protocol',
    group: 'Traces',
    choices: otlpProtocols,
    help: 'The form of the requests to the collector.',
    shownDefault: 'http/protobuf',
    parse: (text = 'http/protobuf') => choice(otlpProtocols)(text),
  }),
  tracesSampler: option({
    env: 'OTEL_TRACES_SAMPLER',
    flag: 'traces-sampler',
    group: 'Traces',
    choices: tracesSamplers,
    value: 'SAMPLER',
    help: 'Which traces are recorded: always_on, always_off, traceidratio, or one of them after parentbased_, which follows the client if it sends a traceparent.',
    shownDefault: 'parentbased_always_on',
    parse: (text = 'parentbased_always_on') => choice(tracesSamplers)(text),
  }),
  tracesSamplerArg: option({
    env: 'OTEL_TRACES_SAMPLER_ARG',
    flag: 'traces-sampler-arg',
    group: 'Traces',
    value: 'RATIO',
    help: 'The share of traces that traceidratio and parentbased_traceidratio record, from 0 to 1.',
    shownDefault: '1',
    parse: (text = '1') => share(text),
  }),
  trustProxy: option({
    env: 'PARLEY_TRUST_PROXY',
    flag: 'trust-proxy',
    group: 'Requests',
    value: 'PROXIES',
    help: 'The proxies whose X-Forwarded-* headers are trusted: a number of hops, or addresses and CIDR ranges.',
    shownDefault: 'none',
    parse: trustProxy,
  }),
  allowPrivateAddresses: option({
    env: 'PARLEY_ALLOW_PRIVATE_ADDRESSES',
    flag: 'allow-private-addresses',
    group: 'Outgoing connections',
    value: '0|1|HOSTS',
    help: 'The private addresses, such as local models, that users may make the service connect to: 1 (all), 0 (none), or hosts such as 127.0.0.1:11434,models.internal:8000,10.1.0.0/16.',
    shownDefault: '1 on loopback with one user and no public URL, otherwise 0',
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
  /** Agents that were installed into the data folder. */
  readonly agentsDir: string;
  readonly pricesFile: string;
  readonly rateLimit: number;
  readonly createLimit: number;
  readonly waitingMax: number;
  readonly onLoopback: boolean;
}

export type Environment = Readonly<Record<string, string | undefined>>;

function trustsProxy(trust: TrustProxy): boolean {
  return typeof trust === 'number' ? trust > 0 : trust.length > 0;
}

export function isLoopbackName(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  return (
    name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name)
  );
}

/**
 * Takes the flags first, then the environment, in which an empty value counts as absent. `flags` are the values of the
 * command line, by flag. Throws RefusalError.
 */
export function readConfig(environment: Environment, flags: Environment = {}): Config {
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
      'PARLEY_ROLE=worker needs DATABASE_URL: only one process can use SQLite, so it must be both API and worker.',
    );
  const onLoopback = isLoopbackName(values.host);
  const isBehindProxy = values.publicUrl !== undefined || trustsProxy(values.trustProxy);
  const hasOtherNames = values.allowedHosts.some((host) => !isLoopbackName(host.replace(/:\d+$/, '')));
  if (values.withoutKey && (!onLoopback || isBehindProxy || hasOtherNames))
    throw new RefusalError(
      'PARLEY_WITHOUT_KEY=1 works only on loopback, without PARLEY_PUBLIC_URL, PARLEY_TRUST_PROXY and PARLEY_ALLOWED_HOSTS: anybody could use the service otherwise.',
    );
  return {
    ...values,
    onLoopback,
    agentsFile: values.agentsFile ?? join(values.dataDir, 'agents.json'),
    agentsDir: join(values.dataDir, 'agents'),
    pricesFile: values.pricesFile ?? join(values.dataDir, 'prices.json'),
    rateLimit: values.rateLimit ?? (onLoopback ? 0 : 100),
    createLimit: values.createLimit ?? (onLoopback ? 0 : 60),
    waitingMax: values.waitingMax ?? (onLoopback ? 0 : 1_000),
  };
}

const prefix = 'PARLEY_';
/** Variables of the commands, of the script that starts them, and of tests. */
const otherVariables = /^PARLEY_(URL|KEY|COMMAND|TEST_\w+)$/;

/** Variables that look like options of the service, but are none. */
export function findUnknownVariables(environment: Environment): string[] {
  const known = new Set(Object.values(options).map(({ env }) => env));
  return Object.keys(environment).filter(
    (name) => name.startsWith(prefix) && !known.has(name) && !otherVariables.test(name),
  );
}

/** What the help of `serve` and the documentation show. */
export function serviceOptions(): readonly OptionInfo[] {
  return Object.values(options);
}
