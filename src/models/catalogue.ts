// The models that are known by name, with prices and limits, from the file beside this one.
import { readFileSync } from 'node:fs';
import { programFile } from '../program.ts';

export interface Model {
  /** US dollars per million tokens. */
  readonly input: number;
  readonly output: number;
  readonly cache_read?: number;
  readonly cache_write?: number;
  /** Tokens. */
  readonly context?: number;
  readonly max_output?: number;
  readonly images?: boolean;
  /** The day on which its maker stops offering it. */
  readonly until?: string;
}

interface Catalogue {
  readonly as_of: string;
  readonly models: Readonly<Record<string, Model>>;
}

let catalogue: Catalogue | undefined;

/** Read once, when somebody first asks. */
function getCatalogue(): Catalogue {
  catalogue ??= JSON.parse(readFileSync(programFile('models/models.json'), 'utf8')) as Catalogue;
  return catalogue;
}

/** By the name that users give it. */
export function findModel(name: string): Model | undefined {
  const { models } = getCatalogue();
  return Object.hasOwn(models, name) ? models[name] : undefined;
}

export function listModels(): Model[] {
  return Object.values(getCatalogue().models);
}

/** Names of the models that are still offered on that day, in order. */
export function listModelNames(today: string): string[] {
  return Object.entries(getCatalogue().models)
    .filter(([, { until }]) => until === undefined || until > today)
    .map(([name]) => name)
    .toSorted();
}
