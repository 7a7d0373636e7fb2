// Decides which traces are recorded, by the names of the standard variable OTEL_TRACES_SAMPLER.
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { TracesSampler } from '../config.ts';

const parentPrefix = 'parentbased_';

function createRootSampler(name: string, ratio: number): Sampler {
  if (name === 'always_off') return new AlwaysOffSampler();
  return name === 'traceidratio' ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler();
}

export function createSampler(name: TracesSampler, ratio: number): Sampler {
  if (!name.startsWith(parentPrefix)) return createRootSampler(name, ratio);
  return new ParentBasedSampler({ root: createRootSampler(name.slice(parentPrefix.length), ratio) });
}
