// Counters, gauges and histograms. They are plain numbers until they are read, because every request changes some.

type LabelValues = readonly (string | number)[];

interface Declared {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

export interface Sample {
  readonly labels: LabelValues;
  readonly value: number;
}

export interface Counter extends Declared {
  readonly kind: 'counter';
  /** The values are those of the labels, in their order. */
  add(values: LabelValues, count?: number): void;
  samples(): readonly Sample[];
}

export interface Gauge extends Declared {
  readonly kind: 'gauge';
  samples(): Promise<readonly Sample[]> | readonly Sample[];
}

interface HistogramSample {
  readonly labels: LabelValues;
  /** How many values were at most as large as each bound, and then all of them. */
  readonly cumulative: readonly number[];
  readonly sum: number;
}

export interface Histogram extends Declared {
  readonly kind: 'histogram';
  readonly bounds: readonly number[];
  observe(values: LabelValues, value: number): void;
  /** Returns a function that observes values of one series, for code in which finding the series would cost too much. */
  observerOf(values: LabelValues): (value: number) => void;
  samples(): readonly HistogramSample[];
}

export type Instrument = Counter | Gauge | Histogram;

/** Label values come from fixed lists; this only protects against a mistake. */
const seriesMax = 5_000;
/** Separates label values. It is in none of them. */
const separator = '\u0000';

/** The series of an instrument by their label values. */
function createSeries<State>(create: (labels: LabelValues) => State) {
  const series = new Map<string, State>();
  return {
    of: (values: LabelValues): State | undefined => {
      const key = values.join(separator);
      let state = series.get(key);
      if (state === undefined && series.size < seriesMax) {
        state = create(values);
        series.set(key, state);
      }
      return state;
    },
    all: () => [...series.values()],
  };
}

export function createCounter(declared: Declared): Counter {
  const series = createSeries((labels) => ({ labels, value: 0 }));
  return {
    ...declared,
    kind: 'counter',
    add: (values, count = 1) => {
      const state = series.of(values);
      if (state !== undefined) state.value += count;
    },
    samples: series.all,
  };
}

/** A gauge that is read when somebody asks for it. */
export function createGauge(declared: Declared, samples: Gauge['samples']): Gauge {
  return { ...declared, kind: 'gauge', samples };
}

export function createHistogram(declared: Declared & { readonly bounds: readonly number[] }): Histogram {
  const { bounds } = declared;
  const series = createSeries((labels) => ({
    labels,
    counts: Array.from({ length: bounds.length + 1 }, () => 0),
    sum: 0,
  }));

  function count(state: ReturnType<typeof series.of>, value: number): void {
    if (state === undefined) return;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket += 1;
    state.counts[bucket] = (state.counts[bucket] ?? 0) + 1;
    state.sum += value;
  }

  return {
    ...declared,
    kind: 'histogram',
    observe: (values, value) => count(series.of(values), value),
    observerOf: (values) => {
      const state = series.of(values);
      return (value) => count(state, value);
    },
    samples: () =>
      series.all().map(({ labels, counts, sum }) => {
        let total = 0;
        return { labels, sum, cumulative: counts.map((count) => (total += count)) };
      }),
  };
}
