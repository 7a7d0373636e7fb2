// The models that are known by name, with prices and limits: those of the file beside this one, and an operator's.
import { readFileSync } from 'node:fs';
import Type, { type Static } from 'typebox';
import { programFile } from '../process/program.ts';
import { parseOperatorFile, readOperatorFile } from '../validation/operatorFile.ts';

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
    /** The day on which its maker stops offering it. */
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
  /** By the name that users give it. */
  find(name: string): Model | undefined;
  list(): readonly Model[];
  /** Names of the models that are still offered on that day, in order. */
  names(today: string): string[];
}

function readShipped(): [string, Model][] {
  const text = readFileSync(programFile('models/models.json'), 'utf8');
  return Object.entries((JSON.parse(text) as Static<typeof ModelFile>).models);
}

/** The models of a file's text. Throws RefusalError, which names the file and the place. */
export function readModels(text: string, file: string): ReadonlyMap<string, Model> {
  return new Map(Object.entries(parseOperatorFile(text, file, ModelFile).models));
}

/** Prices are replaced together; limits that the operator leaves out are those that ship. */
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
 * Those that ship, with those of the operator's file added, or put in place of ours, by name. The file need not exist;
 * where it is wrong, throws RefusalError.
 */
export function loadModels(operatorFile?: string): Models {
  const text = operatorFile === undefined ? undefined : readOperatorFile(operatorFile, 'prices');
  const own = operatorFile === undefined || text === undefined ? new Map() : readModels(text, operatorFile);
  let all: Map<string, Model> | undefined;

  /** Ours are read when somebody first asks. */
  function getAll(): ReadonlyMap<string, Model> {
    if (all !== undefined) return all;
    all = new Map(readShipped());
    for (const [name, model] of own) all.set(name, replace(all.get(name), model));
    return all;
  }

  return {
    find: (name) => getAll().get(name),
    list: () => [...getAll().values()],
    names: (today) =>
      [...getAll()]
        .filter(([, { until }]) => until === undefined || until > today)
        .map(([name]) => name)
        .toSorted(),
  };
}
