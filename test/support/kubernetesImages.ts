// Images for tests with a cluster. No registry is needed: the lowest layer consists of the Debian packages that a Dockerfile
// in deploy/ installs, and is kept in the cache; the others have Node, and Parley as it is now.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inFolder } from './dockerImages.ts';
import { clusterCache, type KubernetesCluster } from './kubernetesCluster.ts';
import { runNpm } from './npm.ts';
import { projectDir } from './program.ts';

/** The image of the pods of conversations. */
export const agentImage = 'localhost/parley-agent:test';
/** The image of the service. */
export const serviceImage = 'localhost/parley:test';

const suite = 'bookworm';
const outputBytesMax = 16_000_000;
const unneeded = ['doc', 'man', 'locale', 'info'].map(
  (name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`,
);
const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

async function run(program: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)(program, args, { maxBuffer: outputBytesMax });
}

/** Nobody sees half a file, should two runs make it at the same time. */
async function cached(name: string, make: (file: string) => Promise<void>): Promise<string> {
  const file = join(clusterCache, name);
  if (existsSync(file)) return file;
  const partial = join(clusterCache, `${process.pid}-${name}`);
  await make(partial);
  renameSync(partial, file);
  return file;
}

/** The user and the packages are those of the Dockerfile, so that a test notices what is missing there. */
function readDockerfile(name: string): { packages: string; commands: string } {
  const text = readFileSync(join(projectDir, name), 'utf8').replaceAll(/\\\n/g, ' ');
  const packages = /apt-get install --yes --no-install-recommends ([^&]+)/.exec(text)?.[1];
  const commands = /^RUN (useradd .*)$/m.exec(text)?.[1];
  if (packages === undefined || commands === undefined) throw new Error(`${name} is not as expected`);
  return { packages: packages.trim().split(/\s+/).join(','), commands: commands.trim() };
}

/** Debian with what the Dockerfile installs, and its user. */
function debianLayer(dockerfile: string): Promise<string> {
  const { packages, commands } = readDockerfile(dockerfile);
  const hash = createHash('sha256').update(`${packages} ${commands}`).digest('hex').slice(0, 12);
  return cached(`debian-${hash}.tar`, (file) =>
    run('mmdebstrap', [
      ...['--quiet', '--variant=minbase', '--format=tar', ...unneeded, `--include=${packages}`],
      ...[`--customize-hook=chroot "$1" sh -c '${commands}'`, '--aptopt=Acquire::Check-Valid-Until false'],
      ...[suite, file],
    ]),
  );
}

/** Everything belongs to root. */
const pack = (folder: string, file: string) =>
  run('tar', ['--create', '--owner=0', '--group=0', '--numeric-owner', `--file=${file}`, '-C', folder, '.']);

function nodeLayer(): Promise<string> {
  return cached(`node-${process.version}-${process.arch}.tar`, (file) =>
    inFolder(async (folder) => {
      mkdirSync(join(folder, 'usr/local/bin'), { recursive: true });
      cpSync(process.execPath, join(folder, 'usr/local/bin/node'));
      await pack(folder, file);
    }),
  );
}

/** Whether images can be made here; otherwise the reason to skip. */
export async function findMissingImages(): Promise<string | false> {
  try {
    await run('mmdebstrap', ['--version']);
    return false;
  } catch {
    return 'not installed: mmdebstrap';
  }
}

export interface AgentImageOptions {
  readonly name?: string;
  /** What is at /opt/parley: the folder `dist` of the package, or one that the tests have built. */
  readonly dist?: string;
  /** More files, by their path in the image. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Makes the image of deploy/kubernetes/Dockerfile, and imports it. */
export async function importAgentImage(
  cluster: KubernetesCluster,
  { name = agentImage, dist = join(projectDir, 'dist-test'), files = {} }: AgentImageOptions = {},
): Promise<void> {
  const below = [await debianLayer('deploy/kubernetes/Dockerfile'), await nodeLayer()];
  await inFolder(async (folder) => {
    const parley = join(folder, 'root/opt/parley');
    cpSync(dist, parley, { recursive: true, verbatimSymlinks: true });
    rmSync(join(parley, 'web'), { recursive: true, force: true });
    writeFileSync(join(parley, 'package.json'), '{"type":"module"}\n');
    for (const [to, from] of Object.entries(files)) cpSync(from, join(folder, 'root', to));
    const top = join(folder, 'parley.tar');
    await pack(join(folder, 'root'), top);
    const config = {
      User: '1000:1000',
      WorkingDir: '/workspace',
      Env: [path, 'HOME=/home/agent', 'LANG=C.UTF-8'],
      Cmd: ['node', '/opt/parley/supervisor.js'],
    };
    await cluster.importImage(name, config, [...below, top]);
  });
}

/** Makes the image of deploy/Dockerfile from the package, and imports it. npm needs its registry or cache. */
export async function importServiceImage(cluster: KubernetesCluster, name = serviceImage): Promise<void> {
  const debian = await debianLayer('deploy/Dockerfile');
  await inFolder(async (folder) => {
    await runNpm(['pack', `--pack-destination=${folder}`, projectDir]);
    const { version } = JSON.parse(readFileSync(join(projectDir, 'package.json'), 'utf8'));
    const prefix = join(folder, 'root/usr/local');
    const file = join(folder, `parleyd-${version}.tgz`);
    await runNpm(['install', '--global', `--prefix=${prefix}`, '--prefer-offline', file]);
    const top = join(folder, 'parley.tar');
    await pack(join(folder, 'root'), top);
    const variables = ['HOST=0.0.0.0', 'PORT=3000', 'PARLEY_DATA_DIR=/data', 'XDG_CACHE_HOME=/data/cache'];
    const config = {
      User: '1000:1000',
      WorkingDir: '/data',
      Env: [path, ...variables, 'LANG=C.UTF-8'],
      Entrypoint: ['tini', '--', 'parley'],
      Cmd: ['serve'],
    };
    await cluster.importImage(name, config, [debian, top]);
  });
}
