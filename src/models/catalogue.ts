// The known models with prices and limits: from the file next to this one, and from the operator's file.
import { readFileSync } from 'node:fs';
import Type, { type Static } from 'typebox';
import { programFile } from '../process/program.ts';
import { parseOperatorFile, readOperatorFile } from '../validation/operatorFile.ts';
import { resolveModelName } from './names.ts';

const modelsMax = 10_000;
const nameMax = 200;
const dollarsMax = 1_000_000;
const tokensMax = 1_000_000_000;
const noteMax = 10_000;
const only = { additionalProperties: false };

/** US dollars per million tokens; 0 is free. */
const Price = Type.Number({ minimum: 0, maximum: dollarsMax });
const Tokens = Type.Integer({ minimum: 1, maximum: tokensMax });
const Note = Type.String({ maxLength: noteMax });

const Model = Type.Object(
  {
    input: Price,
    output: Price,
    cache_read: Type.Optional(Price),
    cache_write: Type.Optional(Price),
    context: Type.Optional(Tokens),
    max_output: Type.Optional(Tokens),
    images: Type.Optional(Type.Boolean()),
    /** The day on which its provider retires it. */
    until: Type.Optional(Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$' })),
  },
  only,
);
export type Model = Readonly<Static<typeof Model>>;

const ModelFile = Type.Object(
  {
    about: Type.Optional(Note),
    as_of: Type.Optional(Note),
    source: Type.Optional(Note),
    models: Type.Record(Type.String({ pattern: `^\\S{1,${nameMax}}$` }), Model, {
      maxProperties: modelsMax,
      ...only,
    }),
  },
  only,
);

export interface Models {
  /** Finds a model by the user's name for it. */
  find(name: string): Model | undefined;
  list(): readonly Model[];
  /** The names of the models that are still offered on that day, in order. */
  names(today: string): string[];
}

function readShipped(): [string, Model][] {
  const text = readFileSync(programFile('models/models.json'), 'utf8');
  return Object.entries((JSON.parse(text) as Static<typeof ModelFile>).models);
}

/** Parses the models of a file. Throws RefusalError with the file and the path. */
export function readModels(text: string, file: string): ReadonlyMap<string, Model> {
  return new Map(Object.entries(parseOperatorFile(text, file, ModelFile).models));
}

/** Prices are replaced together. Limits that the operator omits keep their defaults. */
function replace(shipped: Model | undefined, own: Model): Model {
  if (shipped === undefined) return own;
  const { context, max_output, images } = shipped;
  return {
    ...(context === undefined ? {} : { context }),
    ...(max_output === undefined ? {} : { max_output }),
    ...(images === undefined ? {} : { images }),
    ...own,
  };
}

/**
 * The shipped models, extended or replaced by name from the operator's file, which need not exist. Throws RefusalError
 * if the file is not valid.
 */
export function loadModels(operatorFile?: string): Models {
  const text = operatorFile === undefined ? undefined : readOperatorFile(operatorFile, 'prices');
  const own = operatorFile === undefined || text === undefined ? new Map() : readModels(text, operatorFile);
  let all: Map<string, Model> | undefined;

  /** The shipped models are loaded on first use. */
  function getAll(): ReadonlyMap<string, Model> {
    if (all !== undefined) return all;
    all = new Map(readShipped());
    for (const [name, model] of own) all.set(name, replace(all.get(name), model));
    return all;
  }

  return {
    find: (name) => getAll().get(resolveModelName(name)),
    list: () => [...getAll().values()],
    names: (today) =>
      [...getAll()]
        .filter(([, { until }]) => until === undefined || until > today)
        .map(([name]) => name)
        .toSorted(),
  };
}
