// Installs agents as people do, `npm install -g`, but each in a version that was seen to work, and in a folder of its
// own that the machine's own programs do not look into: where one cannot be had, the others can.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeNpmFailure, runNpm } from '../support/npm.ts';

/** An npm package. */
export interface Package {
  readonly name: string;
  readonly version: string;
}

export interface Installed {
  /** Folders for PATH. */
  readonly bins: readonly string[];
  /** Why a package could not be installed, by its name. */
  readonly faults: ReadonlyMap<string, string>;
  remove(): void;
}

/** Installs into the folder, which must not exist. */
export type Install = (one: Package, folder: string) => Promise<void>;

const npmInstall: Install = ({ name, version }, folder) =>
  runNpm(['install', `${name}@${version}`, '--global', `--prefix=${folder}`]);

/** The folder gets its name when all is in it: what has the name is complete, whenever an install was broken off. */
async function installOne(one: Package, root: string, install: Install): Promise<string> {
  const place = join(root, `${one.name.replaceAll(/[^\w.-]/g, '_')}-${one.version}`);
  if (existsSync(place)) return place;
  const part = `${place}.part`;
  rmSync(part, { recursive: true, force: true });
  try {
    await install(one, part);
    renameSync(part, place);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
  return place;
}

/** In the folder `kept`, where one is named, what is there already is not installed again. */
export async function installAgents(
  packages: readonly Package[],
  kept?: string,
  install = npmInstall,
): Promise<Installed> {
  const root = kept ?? mkdtempSync(join(tmpdir(), 'parley-agents-'));
  mkdirSync(root, { recursive: true });
  const bins: string[] = [];
  const faults = new Map<string, string>();
  for (const one of packages)
    try {
      bins.push(join(await installOne(one, root, install), 'bin'));
    } catch (error) {
      faults.set(one.name, describeNpmFailure(error));
    }
  return {
    bins,
    faults,
    remove: () => {
      if (kept === undefined) rmSync(root, { recursive: true, force: true });
    },
  };
}
