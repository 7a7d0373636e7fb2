// Every option of the service, declared once: its environment variable, flag, default, help and check.
import { accessSync, constants } from 'node:fs';
import { isIP } from 'node:net';
import { isAbsolute, join, resolve } from 'node:path';
import { type BlobLocation, parseBlobLocation } from './blobs/location.ts';
import { RefusalError } from './errors.ts';
import { type GitHosts, gitHostsForm, parseGitHosts } from './git/hosts.ts';
import { modelHostsForm, parseModelHosts } from './models/hosts.ts';
import { dollarsMax } from './models/money.ts';
import type { ModelHosts } from './models/providers.ts';
import { type PrivateAccess, parsePrivateAccess, privateHostsForm } from './outgoing/privateHosts.ts';
import { urlFault } from './validation/url.ts';

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];
export type TrustProxy = number | readonly string[];

export const roles = ['all', 'api', 'worker'] as const;
export type Role = (typeof roles)[number];

export const agentSandboxChoices = ['auto', 'on', 'off'] as const;
export type AgentSandboxChoice = (typeof agentSandboxChoices)[number];
export const sandboxChoices = ['auto', 'bubblewrap', 'docker', 'kubernetes', 'process'] as const;
export type SandboxChoice = (typeof sandboxChoices)[number];

export const seccompChoices = ['on', 'off'] as const;

export const oidcClientAuths = ['basic', 'post'] as const;

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
const clientSecretMax = 4_096;
const signInWordMax = 256;
const signInNameMax = 64;

function option<Value>(declared: Option<Value>): Option<Value> {
  return declared;
}

/** The name of an object of Kubernetes. */
function objectName(what: string) {
  return (text: string): string => {
    if (!/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/.test(text))
      throw new BadValue(`must be the name of ${what}`);
    return text;
  };
}

/** An amount of storage, as Kubernetes writes it. */
function quantity(text: string): string {
  if (!/^[1-9]\d{0,14}([kMGTP]|[KMGTP]i)?$/.test(text)) throw new BadValue('must be a size such as 10Gi');
  return text;
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

function dollars(text: string): number {
  const value = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || value > dollarsMax)
    throw new BadValue(`must be a number from 0 to ${dollarsMax}`);
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

/** The name of a claim, a group or a scope, as it may stand in a list. */
function words(text: string | undefined): readonly string[] {
  return list(text).map((word) => {
    if (word.length > signInWordMax || /\p{Cc}/u.test(word))
      throw new BadValue(`must be a list of words of at most ${signInWordMax} characters`);
    return word;
  });
}

function claim(text: string): string {
  if (!/^[\x21-\x7e]{1,128}$/.test(text)) throw new BadValue('must be the name of a claim');
  return text;
}

function emailDomain(text: string): string {
  const domain = text.toLowerCase().replace(/^@/, '');
  if (domain !== '*' && !/^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(domain))
    throw new BadValue('must be a list of domains such as example.com, or * for everyone');
  return domain;
}

function scopeList(text: string): string {
  const scopes = text.split(/[\s,]+/).filter((scope) => scope !== '');
  if (!scopes.includes('openid') || !scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)))
    throw new BadValue('must be a list of scopes that includes openid');
  return scopes.join(' ');
}

/** Without TLS, somebody who reads the traffic could take over the sign-in. */
function issuer(text: string): string {
  const url = URL.parse(text);
  const isSafe = url !== null && (url.protocol === 'https:' || isLoopbackName(url.hostname));
  if (!isSafe || !/^https?:/i.test(text) || urlFault(text) !== undefined || url.search + url.hash !== '')
    throw new BadValue('must be an https URL, or an http URL on loopback, without a query');
  return text;
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
  accessLog: option({
    env: 'PARLEY_ACCESS_LOG',
    flag: 'access-log',
    group: 'Logging',
    value: '0|1',
    help: '1 logs every request with method, route, status, time, id of the API key and client address, at any log level.',
    shownDefault: '0',
    parse: (text = '0') => zeroOrOne(text),
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
    help: 'What isolates agents: auto, bubblewrap, docker, kubernetes or process (no isolation).',
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
  dockerRuntime: option({
    env: 'PARLEY_DOCKER_RUNTIME',
    flag: 'docker-runtime',
    group: 'Sandbox',
    value: 'RUNTIME',
    help: 'The runtime of containers, such as runsc for gVisor. The engine must know it.',
    shownDefault: "the engine's default",
    parse: (text) => {
      if (text !== undefined && !/^[A-Za-z0-9][\w.-]*$/.test(text))
        throw new BadValue('must be the name of a runtime, such as runsc');
      return text;
    },
  }),
  kubernetesImage: option({
    env: 'PARLEY_KUBERNETES_IMAGE',
    flag: 'kubernetes-image',
    group: 'Sandbox',
    value: 'IMAGE',
    help: 'The image of the pods of agents.',
    shownDefault: 'none; kubernetes needs one',
    parse: (text = '') => text,
  }),
  kubernetesNamespace: option({
    env: 'PARLEY_KUBERNETES_NAMESPACE',
    flag: 'kubernetes-namespace',
    group: 'Sandbox',
    value: 'NAME',
    help: 'The namespace of the pods of agents.',
    shownDefault: 'that of the service account, otherwise parley',
    parse: (text) => (text === undefined ? undefined : objectName('a namespace')(text)),
  }),
  kubernetesRuntimeClass: option({
    env: 'PARLEY_KUBERNETES_RUNTIME_CLASS',
    flag: 'kubernetes-runtime-class',
    group: 'Sandbox',
    value: 'NAME',
    help: 'The RuntimeClass of the pods of agents, such as gvisor or kata.',
    shownDefault: "the cluster's default",
    parse: (text) => (text === undefined ? undefined : objectName('a RuntimeClass')(text)),
  }),
  kubernetesVolumes: option({
    env: 'PARLEY_KUBERNETES_VOLUMES',
    flag: 'kubernetes-volumes',
    group: 'Sandbox',
    value: 'SIZE',
    help: 'Keeps the files of each conversation on a PersistentVolumeClaim of this size, such as 10Gi.',
    shownDefault: 'none; files go with their pod',
    parse: (text) => (text === undefined ? undefined : quantity(text)),
  }),
  kubernetesStorageClass: option({
    env: 'PARLEY_KUBERNETES_STORAGE_CLASS',
    flag: 'kubernetes-storage-class',
    group: 'Sandbox',
    value: 'NAME',
    help: 'The StorageClass of these volumes.',
    shownDefault: "the cluster's default",
    parse: (text) => (text === undefined ? undefined : objectName('a StorageClass')(text)),
  }),
  kubernetesAgentSandbox: option({
    env: 'PARLEY_KUBERNETES_AGENT_SANDBOX',
    flag: 'kubernetes-agent-sandbox',
    group: 'Sandbox',
    value: 'auto|on|off',
    choices: agentSandboxChoices,
    help: 'Create a Sandbox of agent-sandbox for each pod. auto does if it is installed and permitted.',
    shownDefault: 'auto',
    parse: (text = 'auto') => choice(agentSandboxChoices)(text),
  }),
  kubernetesWarmPool: option({
    env: 'PARLEY_KUBERNETES_WARM_POOL',
    flag: 'kubernetes-warm-pool',
    group: 'Sandbox',
    value: 'NAME',
    help: 'The SandboxWarmPool of agent-sandbox from which pods are taken.',
    shownDefault: 'none',
    parse: (text) => (text ? objectName('a SandboxWarmPool')(text) : undefined),
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
  removedUserDays: option({
    env: 'PARLEY_REMOVED_USER_DAYS',
    flag: 'removed-user-days',
    group: 'Users',
    value: 'DAYS',
    help: 'How many days a removed user can be restored. Then everything that the user owned is deleted.',
    shownDefault: '30',
    parse: (text = '30') => integer(0, 36_500)(text),
  }),
  userBudgetDay: option({
    env: 'PARLEY_USER_BUDGET_DAY',
    flag: 'user-budget-day',
    group: 'Users',
    value: 'DOLLARS',
    help: 'How many US dollars each user may spend on models per day, in UTC. 0 means no limit. "users budget" sets another one for a single user.',
    shownDefault: '0',
    parse: (text = '0') => dollars(text),
  }),
  userBudgetMonth: option({
    env: 'PARLEY_USER_BUDGET_MONTH',
    flag: 'user-budget-month',
    group: 'Users',
    value: 'DOLLARS',
    help: 'How many US dollars each user may spend on models per month, in UTC. 0 means no limit.',
    shownDefault: '0',
    parse: (text = '0') => dollars(text),
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
  backupDir: option({
    env: 'PARLEY_BACKUP_DIR',
    flag: 'backup-dir',
    group: 'Backups',
    value: 'FOLDER',
    help: 'The folder for scheduled backups, best on another disk. In a cluster, one process at a time makes them.',
    shownDefault: 'none; there are no scheduled backups',
    parse: (text) => (text === undefined ? undefined : resolve(text)),
  }),
  backupHours: option({
    env: 'PARLEY_BACKUP_HOURS',
    flag: 'backup-hours',
    group: 'Backups',
    value: 'HOURS',
    help: 'How many hours after the start of one scheduled backup the next one starts.',
    shownDefault: '24',
    parse: (text = '24') => integer(1, 8_760)(text),
  }),
  backupKeep: option({
    env: 'PARLEY_BACKUP_KEEP',
    flag: 'backup-keep',
    group: 'Backups',
    value: 'N',
    help: 'How many scheduled backups are kept. The oldest is removed when a new one is complete.',
    shownDefault: '7',
    parse: (text = '7') => integer(1, 10_000)(text),
  }),
  backupWorkspaces: option({
    env: 'PARLEY_BACKUP_WORKSPACES',
    flag: 'backup-workspaces',
    group: 'Backups',
    value: '0|1',
    help: 'Whether scheduled backups hold the files of conversations on this machine.',
    shownDefault: '1',
    parse: (text = '1') => zeroOrOne(text),
  }),
  backupKeys: option({
    env: 'PARLEY_BACKUP_KEYS',
    flag: 'backup-keys',
    group: 'Backups',
    value: '0|1',
    help: 'Whether scheduled backups hold the encryption key and the owner key. They need a passphrase then.',
    shownDefault: '0',
    parse: (text = '0') => zeroOrOne(text),
  }),
  backupPassphraseFile: option({
    env: 'PARLEY_BACKUP_PASSPHRASE_FILE',
    flag: 'backup-passphrase-file',
    group: 'Backups',
    value: 'FILE',
    help: 'A file whose first line is the passphrase that encrypts backups.',
    shownDefault: 'none; backups are not encrypted',
    parse: namedFile,
  }),
  backupPassphrase: option({
    env: 'PARLEY_BACKUP_PASSPHRASE',
    group: 'Backups',
    help: 'The passphrase itself, if it is not in a file.',
    shownDefault: 'none',
    parse: (text) => text,
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
  oidcIssuer: option({
    env: 'PARLEY_OIDC_ISSUER',
    flag: 'oidc-issuer',
    group: 'Sign-in',
    value: 'URL',
    help: 'The issuer URL of an OpenID Connect provider. People can then sign in to the web UI with it. Needs PARLEY_OIDC_CLIENT_ID and PARLEY_PUBLIC_URL.',
    shownDefault: 'none; people sign in with API keys',
    parse: (text) => (text === undefined ? undefined : issuer(text)),
  }),
  oidcClientId: option({
    env: 'PARLEY_OIDC_CLIENT_ID',
    flag: 'oidc-client-id',
    group: 'Sign-in',
    value: 'ID',
    help: 'The id of the client that the provider knows Parley as. Its redirect URI is PARLEY_PUBLIC_URL/sign-in.',
    shownDefault: 'none',
    parse: (text) => text,
  }),
  oidcClientSecret: option({
    env: 'PARLEY_OIDC_CLIENT_SECRET',
    group: 'Sign-in',
    help: 'The secret of that client.',
    shownDefault: 'none; the client is a public one',
    parse: (text) => {
      if (text !== undefined && text.length > clientSecretMax)
        throw new BadValue(`must be at most ${clientSecretMax} characters`);
      return text;
    },
  }),
  oidcClientAuth: option({
    env: 'PARLEY_OIDC_CLIENT_AUTH',
    flag: 'oidc-client-auth',
    group: 'Sign-in',
    choices: oidcClientAuths,
    help: 'How Parley sends the client secret: as basic authentication, or in the body of a POST.',
    shownDefault: 'basic',
    parse: (text = 'basic') => choice(oidcClientAuths)(text),
  }),
  oidcName: option({
    env: 'PARLEY_OIDC_NAME',
    flag: 'oidc-name',
    group: 'Sign-in',
    value: 'NAME',
    help: 'The name of the provider on the button "Sign in with NAME".',
    shownDefault: 'the host of the issuer',
    parse: (text) => {
      if (text !== undefined && (text.length > signInNameMax || /\p{Cc}/u.test(text)))
        throw new BadValue(`must be at most ${signInNameMax} characters in one line`);
      return text;
    },
  }),
  oidcScopes: option({
    env: 'PARLEY_OIDC_SCOPES',
    flag: 'oidc-scopes',
    group: 'Sign-in',
    value: 'SCOPES',
    help: 'The scopes that Parley requests from the provider, separated by spaces. Some providers need another one to return groups.',
    shownDefault: 'openid profile email',
    parse: (text = 'openid profile email') => scopeList(text),
  }),
  oidcUserClaim: option({
    env: 'PARLEY_OIDC_USER_CLAIM',
    flag: 'oidc-user-claim',
    group: 'Sign-in',
    value: 'CLAIM',
    help: 'The claim that a new user is named after. It does not identify the user; the subject does.',
    shownDefault: 'preferred_username',
    parse: (text = 'preferred_username') => claim(text),
  }),
  oidcEmailDomains: option({
    env: 'PARLEY_OIDC_EMAIL_DOMAINS',
    flag: 'oidc-email-domains',
    group: 'Sign-in',
    value: 'DOMAINS',
    help: 'Only people with a verified email address of these domains may sign in, separated by commas. * means everyone.',
    shownDefault: 'none; the domain is not checked',
    parse: (text) => list(text).map(emailDomain),
  }),
  oidcGroups: option({
    env: 'PARLEY_OIDC_GROUPS',
    flag: 'oidc-groups',
    group: 'Sign-in',
    value: 'GROUPS',
    help: 'Only members of one of these groups may sign in, separated by commas.',
    shownDefault: 'none; groups are not checked',
    parse: words,
  }),
  oidcGroupsClaim: option({
    env: 'PARLEY_OIDC_GROUPS_CLAIM',
    flag: 'oidc-groups-claim',
    group: 'Sign-in',
    value: 'CLAIM',
    help: 'The claim with the groups: a list of texts, or one text.',
    shownDefault: 'groups',
    parse: (text = 'groups') => claim(text),
  }),
  oidcCreateUsers: option({
    env: 'PARLEY_OIDC_CREATE_USERS',
    flag: 'oidc-create-users',
    group: 'Sign-in',
    value: '0|1',
    help: '1 creates a user for everyone who may sign in and has none. Needs PARLEY_OIDC_EMAIL_DOMAINS or PARLEY_OIDC_GROUPS.',
    shownDefault: '0; an administrator links users first',
    parse: (text = '0') => zeroOrOne(text),
  }),
  oidcAdminGroups: option({
    env: 'PARLEY_OIDC_ADMIN_GROUPS',
    flag: 'oidc-admin-groups',
    group: 'Sign-in',
    value: 'GROUPS',
    help: 'Members of these groups are administrators while they are signed in, separated by commas.',
    shownDefault: 'none',
    parse: words,
  }),
  oidcAdminEmails: option({
    env: 'PARLEY_OIDC_ADMIN_EMAILS',
    flag: 'oidc-admin-emails',
    group: 'Sign-in',
    value: 'EMAILS',
    help: 'People with these verified email addresses are administrators while they are signed in, separated by commas.',
    shownDefault: 'none',
    parse: (text) => words(text).map((email) => email.toLowerCase()),
  }),
  sessionIdleMinutes: option({
    env: 'PARLEY_SESSION_IDLE_MINUTES',
    flag: 'session-idle-minutes',
    group: 'Sign-in',
    value: 'MINUTES',
    help: 'A session ends if it is not used for so long.',
    shownDefault: '720',
    parse: (text = '720') => integer(1, 525_600)(text),
  }),
  sessionHours: option({
    env: 'PARLEY_SESSION_HOURS',
    flag: 'session-hours',
    group: 'Sign-in',
    value: 'HOURS',
    help: 'A session ends after this time, even if it is used.',
    shownDefault: '168',
    parse: (text = '168') => integer(1, 8_760)(text),
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

export function trustsProxy(trust: TrustProxy): boolean {
  return typeof trust === 'number' ? trust > 0 : trust.length > 0;
}

export function isLoopbackName(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  return (
    name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name)
  );
}

/** Refuses a sign-in that could not work, or that would let everybody in by accident. */
function checkSignIn(values: Parsed): void {
  const { oidcIssuer, oidcClientId, publicUrl } = values;
  if (oidcIssuer === undefined) {
    if (oidcClientId !== undefined || values.oidcClientSecret !== undefined)
      throw new RefusalError('PARLEY_OIDC_CLIENT_ID and PARLEY_OIDC_CLIENT_SECRET need PARLEY_OIDC_ISSUER.');
    return;
  }
  if (oidcClientId === undefined) throw new RefusalError('PARLEY_OIDC_ISSUER needs PARLEY_OIDC_CLIENT_ID.');
  if (publicUrl === undefined)
    throw new RefusalError(
      'PARLEY_OIDC_ISSUER needs PARLEY_PUBLIC_URL, the URL that the provider sends people back to.',
    );
  if (!publicUrl.startsWith('https:') && !isLoopbackName(new URL(publicUrl).hostname))
    throw new RefusalError(
      'With PARLEY_OIDC_ISSUER, PARLEY_PUBLIC_URL must be an https URL, or on loopback.',
    );
  if (values.oidcCreateUsers && values.oidcEmailDomains.length === 0 && values.oidcGroups.length === 0)
    throw new RefusalError(
      'PARLEY_OIDC_CREATE_USERS=1 needs PARLEY_OIDC_EMAIL_DOMAINS or PARLEY_OIDC_GROUPS. PARLEY_OIDC_EMAIL_DOMAINS=* lets everyone in who has an account at the provider.',
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
  checkSignIn(values);
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
