// Prints the instruments in the text format of Prometheus, with those of the process that prom-client knows. Loaded when
// metrics are read for the first time, because loading it would delay every start.
import * as prometheus from 'prom-client';
import type { Counter, Gauge, Histogram, Instrument } from './instruments.ts';

type Labels = Record<string, string | number>;

function labelled(names: readonly string[], values: readonly (string | number)[]): Labels {
  return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']));
}

function registerCounter(registry: prometheus.Registry, { name, help, labels, samples }: Counter): void {
  new prometheus.Counter({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect() {
      this.reset();
      for (const sample of samples()) this.inc(labelled(labels, sample.labels), sample.value);
    },
  });
}

function registerGauge(registry: prometheus.Registry, { name, help, labels, samples }: Gauge): void {
  new prometheus.Gauge({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    async collect() {
      this.reset();
      // A gauge without labels has the value 0 then.
      if (labels.length === 0) this.remove();
      for (const sample of await samples()) this.set(labelled(labels, sample.labels), sample.value);
    },
  });
}

function printLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) =>
      `${name}="${String(value).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`,
  );
  return `{${pairs.join(',')}}`;
}

/** prom-client can only count values one by one, which takes longer than some of our requests may. */
function printHistogram({ name, help, labels, bounds, samples }: Histogram): string {
  const lines = samples().flatMap(({ labels: values, cumulative, sum }) => {
    const own = labelled(labels, values);
    const count = cumulative.at(-1) ?? 0;
    return [
      ...bounds.map((le, i) => `${name}_bucket${printLabels({ ...own, le })} ${cumulative[i] ?? 0}`),
      `${name}_bucket${printLabels({ ...own, le: '+Inf' })} ${count}`,
      `${name}_sum${printLabels(own)} ${sum}`,
      `${name}_count${printLabels(own)} ${count}`,
    ];
  });
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines, ''].join('\n');
}

export interface Exposition {
  readonly contentType: string;
  print(): Promise<string>;
}

export function createExposition(instruments: readonly Instrument[]): Exposition {
  const registry = new prometheus.Registry();
  prometheus.collectDefaultMetrics({ register: registry });
  const histograms: Histogram[] = [];
  for (const instrument of instruments) {
    if (instrument.kind === 'counter') registerCounter(registry, instrument);
    else if (instrument.kind === 'gauge') registerGauge(registry, instrument);
    else histograms.push(instrument);
  }
  return {
    contentType: registry.contentType,
    print: async () => [await registry.metrics(), ...histograms.map(printHistogram)].join('\n'),
  };
}
