// The services that the user has logged in to, each with its API key, in a file that only the user can read.
import { mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Environment } from '../../config.ts';
import { RefusalError } from '../../errors.ts';
import { replaceFile } from '../../process/durableFiles.ts';
import { commandName } from '../../process/program.ts';

/** The context that always exists: the service on this machine. */
export const localContext = 'local';

export interface Context {
  readonly name: string;
  readonly url: string;
  readonly key: string;
}

export interface Contexts {
  /** Undefined if the current context is `local`. */
  readonly current: Context | undefined;
  readonly all: readonly Context[];
}

/** A relative XDG_CONFIG_HOME is ignored, as its specification demands. */
function configFolder(env: Environment): string {
  const named = env['XDG_CONFIG_HOME'] ?? '';
  return join(isAbsolute(named) ? named : join(env['HOME'] || homedir(), '.config'), 'parley');
}

function fileOf(env: Environment): string {
  return join(configFolder(env), 'contexts.json');
}

function isContext(value: unknown): value is Context {
  const { name, url, key } = (value ?? {}) as Record<string, unknown>;
  return [name, url, key].every((text) => typeof text === 'string' && text !== '');
}

/** A damaged file is reported and never replaced by an empty one. */
export function readContexts(env: Environment = process.env): Contexts {
  const file = fileOf(env);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { current: undefined, all: [] };
    throw new RefusalError(`${file} cannot be read: ${code}.`);
  }
  try {
    const { current, contexts } = JSON.parse(text) as { current: unknown; contexts: unknown };
    if (!Array.isArray(contexts) || !contexts.every(isContext)) throw new Error('not a list of contexts');
    return { current: contexts.find(({ name }) => name === current), all: contexts };
  } catch {
    throw new RefusalError(`${file} is damaged. Repair it, or delete it and log in again.`);
  }
}

function writeContexts({ current, all }: Contexts, env: Environment): void {
  mkdirSync(configFolder(env), { recursive: true, mode: 0o700 });
  const stored = { current: current?.name ?? localContext, contexts: all };
  replaceFile(fileOf(env), `${JSON.stringify(stored, null, 2)}\n`);
}

export function checkContextName(name: string): void {
  if (name === localContext)
    throw new RefusalError(
      `"${localContext}" is the service on this machine. Choose another name with --name.`,
    );
  if (!/^[A-Za-z0-9][\w.:-]{0,63}$/.test(name))
    throw new RefusalError(
      '--name must have 1 to 64 letters, digits, dots, dashes, underscores and colons, and start with a letter or a digit.',
    );
}

/** Stores the context, in place of one with the same name, and makes it the current one. */
export function saveContext(context: Context, env: Environment = process.env): void {
  checkContextName(context.name);
  const others = readContexts(env).all.filter(({ name }) => name !== context.name);
  writeContexts({ current: context, all: [...others, context] }, env);
}

function getContext({ all }: Contexts, name: string): Context {
  const found = all.find((context) => context.name === name);
  if (found !== undefined) return found;
  throw new RefusalError(`There is no context with that name; "${commandName} contexts" lists them.`);
}

export function switchContext(name: string, env: Environment = process.env): void {
  const contexts = readContexts(env);
  writeContexts(
    { ...contexts, current: name === localContext ? undefined : getContext(contexts, name) },
    env,
  );
}

/** Removes the context, by default the current one, and returns it. */
export function removeContext(name: string | undefined, env: Environment = process.env): Context {
  const contexts = readContexts(env);
  const removed = name === undefined ? contexts.current : getContext(contexts, name);
  if (removed === undefined)
    throw new RefusalError(`You are not logged in; "${commandName} contexts" lists the contexts.`);
  const all = contexts.all.filter((context) => context !== removed);
  writeContexts({ current: contexts.current === removed ? undefined : contexts.current, all }, env);
  return removed;
}
