// Loaded before a simulation (`--import`): applies the changes of one mutant to the sources as they are loaded. The files
// themselves stay as they are, and the product has no switch for this.
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { mutants } from './mutants.ts';

const name = process.env['PARLEY_MUTANT'] ?? '';
const mutant = mutants.find((one) => one.name === name);
if (mutant === undefined) throw new Error(`there is no mutant "${name}"`);

const root = join(import.meta.dirname, '../..');
const changesOf = Map.groupBy(mutant.changes, ({ file }) => pathToFileURL(join(root, file)).href);
const applied = new Set<string>();

function mutateSource(source: string, url: string): string {
  return (changesOf.get(url) ?? []).reduce((text, { file, from, to }) => {
    if (text.split(from).length !== 2) throw new Error(`${file} does not contain this text once: ${from}`);
    applied.add(`${file} ${from}`);
    return text.replace(from, () => to);
  }, source);
}

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (!changesOf.has(url)) return loaded;
    return { ...loaded, source: mutateSource(String(loaded.source), url) };
  },
});

process.on('exit', () => {
  if (applied.size === mutant.changes.length) return;
  console.log('NOT APPLIED: a changed file was never loaded');
  process.exitCode = 2;
});
