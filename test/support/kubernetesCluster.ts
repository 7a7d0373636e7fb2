// A real Kubernetes of one node for tests, built from Debian's sources. The scripts in test/kubernetes/cluster do the work;
// the one that runs the cluster stops it as soon as this process ends, however that happens.
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { descendantsOf, knownProcess } from '../../src/sandbox/processes.ts';
import { type Credentials, createKubernetesApi, type KubernetesApi } from './kubernetesApi.ts';
import { projectDir } from './program.ts';

const scripts = join(projectDir, 'test/kubernetes/cluster');
const buildMsMax = 40 * 60_000;
const commandMsMax = 5 * 60_000;
const outputBytesMax = 16_000_000;
const errorCharsMax = 4_000;

/** Where Debian installs some of them, which a user's PATH may lack. */
const path = [process.env['PATH'], '/usr/sbin', '/sbin'].join(delimiter);

/** Kept for the next run: the programs of Kubernetes (330 MB), and root file systems of images. */
export const clusterCache =
  process.env['PARLEY_TEST_KUBERNETES_FOLDER'] ??
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'parley-test-kubernetes');

const cniPlugin = '/usr/lib/cni/bridge';
/** Each program with the package of Debian that has it. */
const runPrograms = {
  etcd: 'etcd-server',
  containerd: 'containerd',
  runc: 'runc',
  kubectl: 'kubernetes-client',
  busybox: 'busybox-static',
  openssl: 'openssl',
  ip: 'iproute2',
  unshare: 'util-linux',
  flock: 'util-linux',
};
const buildPrograms = { go: 'golang-go', make: 'make', rsync: 'rsync', 'dpkg-source': 'dpkg-dev' };

function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`], { env: { PATH: path } }).status === 0;
}

const isBuilt = () => existsSync(join(clusterCache, 'bin/VERSION'));

/** The reason to skip tests that need a cluster; false if one can be started, although it may have to be built first. */
export function findMissingCluster(): string | false {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root to start Kubernetes';
  const programs = Object.entries({ ...runPrograms, ...(isBuilt() ? {} : buildPrograms) });
  const packages = programs.filter(([program]) => !isInstalled(program)).map(([, name]) => name);
  if (!existsSync(cniPlugin)) packages.push('containernetworking-plugins');
  return packages.length > 0 && `not installed: ${[...new Set(packages)].join(' ')}`;
}

export interface KubernetesCluster {
  /** The kubeconfig of the administrator. */
  readonly kubeconfig: string;
  /** The folder of the running cluster, with the logs of its parts in `log`. */
  readonly folder: string;
  /** The address of this machine for pods. Nothing else can be reached from them. */
  readonly hostAddress: string;
  /** Whether the RuntimeClass gvisor works. */
  readonly hasGvisor: boolean;
  /** As the administrator. */
  readonly api: KubernetesApi;
  /** Runs kubectl as the administrator and returns its output. Rejects with what it printed if it fails. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** Makes an image of tar files, the lowest first. `config` is that of an OCI image. */
  importImage(name: string, config: object, layers: readonly string[]): Promise<void>;
  createNamespace(name: string): Promise<void>;
  /** Creates a service account, which has no rights, and returns a token for it. */
  createAccount(namespace: string, name: string): Promise<Credentials>;
  /** A token of an existing service account. */
  credentialsOf(namespace: string, account: string): Promise<Credentials>;
  /** Kills a part, such as `kube-apiserver`, which is then started again. */
  killPart(name: string): void;
  stop(): Promise<void>;
}

/** The name of a process's program; empty if it has ended. */
function programOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0]?.split('/').at(-1) ?? '';
  } catch {
    return '';
  }
}

/** Waits for the line READY=1, and returns all NAME=value lines before it. */
async function readSettings(child: ChildProcess): Promise<Record<string, string>> {
  const settings: Record<string, string> = {};
  let errors = '';
  child.stderr?.on('data', (data) => {
    errors = `${errors}${data}`.slice(-errorCharsMax);
  });
  if (child.stdout === null) throw new Error('no output');
  for await (const line of createInterface(child.stdout)) {
    const [name = '', value = ''] = line.split(/=(.*)/s);
    settings[name] = value;
    if (name === 'READY') return settings;
  }
  throw new Error(`the cluster did not start\n${errors.trim()}`);
}

/** What the tests need of a kubeconfig that `up` has written. */
function credentialsIn(kubeconfig: string): Credentials {
  const text = readFileSync(kubeconfig, 'utf8');
  const find = (pattern: RegExp) => pattern.exec(text)?.[1] ?? '';
  return {
    server: find(/server: "([^"]+)"/),
    ca: Buffer.from(find(/certificate-authority-data: ([^}]+)\}/), 'base64').toString(),
    token: find(/token: (\w+)/),
  };
}

/** Builds the programs first, if they are not in the cache, which takes ten minutes. Throws with the reason. */
export async function startKubernetesCluster(): Promise<KubernetesCluster> {
  const env = { ...process.env, PATH: path, CLUSTER_CACHE: clusterCache };
  await promisify(execFile)(join(scripts, 'build'), {
    env,
    timeout: buildMsMax,
    maxBuffer: outputBytesMax,
  });
  // Detached, so that a signal to the group of this process does not end it before it has cleaned up.
  const child = spawn(join(scripts, 'run'), { env, stdio: 'pipe', detached: true });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const settings = await readSettings(child);
  const kubeconfig = settings['KUBECONFIG'] ?? '';
  const folder = settings['CLUSTER_DIR'] ?? '';
  const admin = credentialsIn(kubeconfig);
  const api = createKubernetesApi(admin);

  async function run(program: string, args: readonly string[], input = ''): Promise<string> {
    const running = promisify(execFile)(program, args, {
      env: { ...env, ...settings, HOME: folder },
      timeout: commandMsMax,
      maxBuffer: outputBytesMax,
    });
    running.child.stdin?.end(input);
    return (await running).stdout;
  }

  async function credentialsOf(namespace: string, account: string): Promise<Credentials> {
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const { status } = await api.create<{ token: string }>(`${accounts}/${account}/token`, request);
    return { ...admin, token: status?.token ?? '' };
  }

  return {
    kubeconfig,
    folder,
    hostAddress: `${settings['CLUSTER_NET']}.1`,
    hasGvisor: isInstalled('runsc'),
    api,
    kubectl: (args, input) => run('kubectl', args, input),
    importImage: async (name, config, layers) => {
      await run(join(scripts, 'image'), [name, JSON.stringify(config), ...layers]);
    },
    createNamespace: async (name) => {
      await api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    },
    createAccount: async (namespace, name) => {
      const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } };
      await api.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, account);
      return credentialsOf(namespace, name);
    },
    credentialsOf,
    killPart: (name) => {
      const first = knownProcess(Number(readFileSync(join(folder, 'pid'), 'utf8')));
      for (const { pid } of descendantsOf(first)) if (programOf(pid) === name) process.kill(pid, 'SIGKILL');
    },
    stop: async () => {
      await api.close();
      child.stdin.end();
      await ended;
    },
  };
}
