// Which data folder a command uses if the environment names none: the one in the current folder, or the one of the
// service that editors start.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Config, type Environment, readConfig } from '../../config.ts';
import { programRoot } from '../../process/program.ts';
import { findService } from './runningService.ts';

const variable = 'PARLEY_DATA_DIR';
/** Other programs have folders with the same name. */
const ownFiles = ['parley.db', 'owner.key', 'service.url'];

function isUsed(folder: string): boolean {
  return ownFiles.some((file) => existsSync(join(folder, file)));
}

function ofProgram(): string {
  return join(programRoot, 'data');
}

function ofUser(env: Environment): string {
  return join(env['XDG_DATA_HOME'] || join(homedir(), '.local', 'share'), 'parley');
}

/** The data folder of the clone if it was used before, otherwise one of the user. The editor's own folder never counts. */
export function editorDataDir(env: Environment): string {
  if (env[variable]) return readConfig(env).dataDir;
  return existsSync(ofProgram()) ? ofProgram() : ofUser(env);
}

/** The environment of a command, with a data folder. */
export function withDataDir(env: Environment): Environment {
  const here = resolve('data');
  if (env[variable] || isUsed(here)) return env;
  const others = [ofProgram(), ofUser(env)];
  const found = others.find((folder) => findService(folder) !== undefined) ?? others.find(isUsed);
  return found === undefined ? env : { ...env, [variable]: found };
}

export function readCommandConfig(env: Environment = process.env): Config {
  return readConfig(withDataDir(env));
}
