// The cost of an answer in billionths of a US dollar. Whole numbers keep sums exact.
import type { Model, Models } from '../../models/catalogue.ts';
import type { Tokens } from '../protocols/protocol.ts';

/** Converts dollars per million tokens to billionths of a dollar per token. */
const nanosPerDollarPerMillion = 1_000;
/** Typical prices of cached tokens, relative to input tokens, for providers that do not publish them. */
const cacheReadShare = 0.1;
const cacheWriteShare = 1.25;
/** Ten thousand dollars: no answer costs more, whatever usage it reports. */
const answerNanosMax = 1e13;

export interface Price {
  costOf(tokens: Tokens): number;
  /** A note for the user, if there is one. */
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

/** The highest known price for each kind of token. */
function mostExpensive(models: Models): Model {
  const all = models.list();
  const most = (of: (model: Model) => number) => all.reduce((max, model) => Math.max(max, of(model)), 0);
  return {
    input: most(({ input }) => input),
    output: most(({ output }) => output),
    cache_read: most(({ cache_read, input }) => cache_read ?? input * cacheReadShare),
    cache_write: most(({ cache_write, input }) => cache_write ?? input * cacheWriteShare),
  };
}

export const freeNote = 'The model is on a private address, and counts as free.';
const free: Model = { input: 0, output: 0, cache_read: 0, cache_write: 0 };

/** `isFree` is true for the user's own server at a private address. */
export function findPrice(models: Models, name: string, isFree: boolean): Price {
  if (isFree) return priceOf(free, freeNote);
  const known = models.find(name);
  if (known !== undefined) return priceOf(known);
  return priceOf(
    mostExpensive(models),
    'The price of the model is not known: it counts as the dearest one that is.',
  );
}
