// Which data folder a command uses if the environment names none: the one in the current folder, or the one of the
// service that editors start.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Config, type Environment, readConfig } from '../../config.ts';
import { programRoot } from '../../process/program.ts';
import { findService } from './runningService.ts';

const dataDirVariable = 'PARLEY_DATA_DIR';
/** They tell a data folder of Parley from a folder of another program that is also called `data`. */
const ownFiles = ['parley.db', 'owner.key', 'service.url'];

function isDataDir(folder: string): boolean {
  return ownFiles.some((file) => existsSync(join(folder, file)));
}

function programDataDir(): string {
  return join(programRoot, 'data');
}

function userDataDir(env: Environment): string {
  return join(env['XDG_DATA_HOME'] || join(homedir(), '.local', 'share'), 'parley');
}

/** The data folder beside the program if there is one, otherwise that of the user; never one in the folder of the editor. */
export function editorDataDir(env: Environment): string {
  if (env[dataDirVariable]) return readConfig(env).dataDir;
  return existsSync(programDataDir()) ? programDataDir() : userDataDir(env);
}

/** The environment of a command, with a data folder. */
export function withDataDir(env: Environment): Environment {
  const here = resolve('data');
  if (env[dataDirVariable] || isDataDir(here)) return env;
  const others = [programDataDir(), userDataDir(env)];
  const found = others.find((folder) => findService(folder) !== undefined) ?? others.find(isDataDir);
  return found === undefined ? env : { ...env, [dataDirVariable]: found };
}

export function readCommandConfig(env: Environment = process.env): Config {
  return readConfig(withDataDir(env));
}
