// What an answer costs, in billionths of a US dollar: whole numbers, so that sums are exact.
import type { Model, Models } from '../../models/catalogue.ts';
import type { Tokens } from '../protocols/protocol.ts';

/** Of a dollar per million tokens. */
const nanosPerDollarPerMillion = 1_000;
/** What others charge, where a provider does not say. */
const cacheReadShare = 0.1;
const cacheWriteShare = 1.25;
/** Of one answer: ten thousand dollars, whatever it says that it took. */
const answerNanosMax = 1e13;

export interface Price {
  costOf(tokens: Tokens): number;
  /** Undefined, or what the user should know of it. */
  readonly note: string | undefined;
}

function priceOf({ input, output, cache_read, cache_write }: Model, note?: string): Price {
  const read = cache_read ?? input * cacheReadShare;
  const write = cache_write ?? input * cacheWriteShare;
  return {
    note,
    costOf: (tokens) =>
      Math.min(
        answerNanosMax,
        Math.round(
          nanosPerDollarPerMillion *
            (tokens.input * input +
              tokens.output * output +
              tokens.cacheRead * read +
              tokens.cacheWrite * write),
        ),
      ),
  };
}

/** The dearest of all that are known, for each kind of token. */
function dearest(models: Models): Model {
  const all = models.list();
  const most = (of: (model: Model) => number) => all.reduce((max, model) => Math.max(max, of(model)), 0);
  return {
    input: most(({ input }) => input),
    output: most(({ output }) => output),
    cache_read: most(({ cache_read, input }) => cache_read ?? input * cacheReadShare),
    cache_write: most(({ cache_write, input }) => cache_write ?? input * cacheWriteShare),
  };
}

const free: Model = { input: 0, output: 0, cache_read: 0, cache_write: 0 };

/** `isFree`: the user's own server on a private address. */
export function findPrice(models: Models, name: string, isFree: boolean): Price {
  if (isFree) return priceOf(free, 'The model is on a private address, and counts as free.');
  const known = models.find(name);
  if (known !== undefined) return priceOf(known);
  return priceOf(
    dearest(models),
    'The price of the model is not known: it counts as the dearest one that is.',
  );
}
