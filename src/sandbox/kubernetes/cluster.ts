// How the API server of the cluster is reached: with the service account of this pod, or with a kubeconfig.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';

export interface Cluster {
  readonly server: URL;
  readonly ca: string | undefined;
  /** The client certificate, if the worker authenticates with one. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined;
  /** Read again for each request, because tokens are replaced. */
  readonly token: () => string | undefined;
  /** The namespace that the service account or the context names. */
  readonly namespace: string | undefined;
}

/** It reads a file, but may have to wait for a busy machine. */
const kubectlMsMax = 60_000;
const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Undefined if this process does not run in a pod with a service account. */
function clusterOfAccount(env: NodeJS.ProcessEnv): Cluster | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env;
  if (host === undefined || !existsSync(`${accountFolder}/token`)) return undefined;
  const read = (name: string) => readFileSync(`${accountFolder}/${name}`, 'utf8').trim();
  const name = host.includes(':') ? `[${host}]` : host;
  return {
    server: new URL(`https://${name}:${port}`),
    ca: read('ca.crt'),
    token: () => read('token'),
    namespace: read('namespace'),
  };
}

/** The fields that are used of what `kubectl config view --minify --flatten --raw --output=json` prints. */
interface KubeConfig {
  readonly contexts?: readonly { readonly context?: { readonly namespace?: string } }[];
  readonly clusters?: readonly {
    readonly cluster?: { readonly server?: string; readonly 'certificate-authority-data'?: string };
  }[];
  readonly users?: readonly {
    readonly user?: {
      readonly token?: string;
      readonly 'client-certificate-data'?: string;
      readonly 'client-key-data'?: string;
    };
  }[];
}

/** kubectl knows all forms of a kubeconfig, and is installed wherever people have one. */
async function readKubeConfig(env: NodeJS.ProcessEnv): Promise<KubeConfig> {
  const args = ['config', 'view', '--minify', '--flatten', '--raw', '--output=json'];
  const { stdout } = await promisify(execFile)('kubectl', args, { env, timeout: kubectlMsMax });
  return JSON.parse(stdout) as KubeConfig;
}

const fromBase64 = (text: string) => Buffer.from(text, 'base64').toString();

async function clusterOfKubeConfig(env: NodeJS.ProcessEnv): Promise<Cluster> {
  const config = await readKubeConfig(env).catch((error: NodeJS.ErrnoException) => {
    throw new Error(
      error.code === 'ENOENT'
        ? 'kubectl, which reads the file in KUBECONFIG, is not installed'
        : 'the file in KUBECONFIG cannot be read; check it with "kubectl config view"',
    );
  });
  const cluster = config.clusters?.[0]?.cluster;
  const user = config.users?.[0]?.user ?? {};
  if (cluster?.server === undefined)
    throw new Error('the current context of the file in KUBECONFIG has no cluster');
  const { 'client-certificate-data': cert, 'client-key-data': key } = user;
  const ca = cluster['certificate-authority-data'];
  return {
    server: new URL(cluster.server),
    ca: ca === undefined ? undefined : fromBase64(ca),
    certificate: cert && key ? { cert: fromBase64(cert), key: fromBase64(key) } : undefined,
    token: () => user.token,
    namespace: config.contexts?.[0]?.context?.namespace,
  };
}

/** Throws a sentence without its full stop if there is no cluster. */
export async function findCluster(env: NodeJS.ProcessEnv = process.env): Promise<Cluster> {
  if (env['KUBECONFIG']) return clusterOfKubeConfig(env);
  const found = clusterOfAccount(env);
  if (found === undefined)
    throw new Error(
      'no cluster is configured: set KUBECONFIG, or run Parley in a pod with a service account token',
    );
  return found;
}
