// Images for tests with a Docker engine. No registry is needed: the base image consists of Debian's packages, and the
// others are built on it, as deploy/Dockerfile is with the images of a registry.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { DockerEngine } from './dockerEngine.ts';
import { npmProgram } from './npm.ts';
import { projectDir } from './program.ts';

export const baseImage = 'parley-test/base';
export const parleyImage = 'parley-test/parley';
const buildImage = 'parley-test/build';

const suite = 'bookworm';
const outputBytesMax = 16_000_000;
/** Not part of slim images. */
const unneeded = ['doc', 'man', 'locale', 'info'].map(
  (name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`,
);
/** Proxies may sign with a certificate that only this machine knows. */
const certificates = '/etc/ssl/certs/ca-certificates.crt';

/** A folder that is removed after use. */
export async function inFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-images-'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Imports Debian without documentation. `PARLEY_TEST_DOCKER_FOLDER` keeps the archive for the next run. */
export async function importBase({ docker }: DockerEngine): Promise<void> {
  await inFolder(async (folder) => {
    const archive = join(process.env['PARLEY_TEST_DOCKER_FOLDER'] ?? folder, 'base.tar');
    if (!existsSync(archive))
      await promisify(execFile)('mmdebstrap', ['--quiet', '--variant=minbase', ...unneeded, suite, archive], {
        maxBuffer: outputBytesMax,
      });
    await docker('import', archive, baseImage);
  });
}

/** The engine of tests has no bridge, so builds use the network of the machine. */
function build({ docker }: DockerEngine, tag: string, folder: string, ...more: readonly string[]) {
  return docker('build', '--quiet', '--network', 'host', '--tag', tag, ...more, folder);
}

/** What the official images of Node contain: Node and npm, in addition to Debian. */
async function buildNodeImage(engine: DockerEngine): Promise<void> {
  await inFolder(async (folder) => {
    cpSync(process.execPath, join(folder, 'node'));
    // npm-cli.js is in the folder bin.
    cpSync(dirname(dirname(npmProgram())), join(folder, 'npm'), { recursive: true });
    cpSync(certificates, join(folder, 'certificates.crt'));
    const lines = [
      `FROM ${baseImage}`,
      'COPY node /usr/local/bin/node',
      'COPY npm /usr/local/lib/node_modules/npm',
      'COPY certificates.crt /etc/ssl/certificates.crt',
      'RUN apt-get update && apt-get install --yes libatomic1',
      'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm',
      'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certificates.crt',
    ];
    writeFileSync(join(folder, 'Dockerfile'), `${lines.join('\n')}\n`);
    await build(engine, buildImage, folder);
  });
}

/** Builds deploy/Dockerfile from the package in the folder. */
export async function buildParleyImage(engine: DockerEngine, folder: string): Promise<void> {
  await buildNodeImage(engine);
  const images = ['--build-arg', `BUILD_IMAGE=${buildImage}`, '--build-arg', `BASE_IMAGE=${baseImage}`];
  const file = ['--file', join(projectDir, 'deploy/Dockerfile')];
  await build(engine, parleyImage, folder, ...images, ...file);
}

/** Another image: files of this machine, and what the lines of the Dockerfile say. */
export async function buildOn(
  engine: DockerEngine,
  name: string,
  { from, files, lines }: { from: string; files: Readonly<Record<string, string>>; lines: readonly string[] },
): Promise<void> {
  await inFolder(async (folder) => {
    const root = join(folder, 'root');
    mkdirSync(root);
    for (const [from, to] of Object.entries(files))
      cpSync(from, join(root, to), { recursive: true, verbatimSymlinks: true });
    writeFileSync(
      join(folder, 'Dockerfile'),
      `${[`FROM ${from}`, 'USER root', ...readdirSync(root).map((top) => `COPY root/${top} /${top}`), ...lines].join('\n')}\n`,
    );
    await build(engine, name, folder);
  });
}
