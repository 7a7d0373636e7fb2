// Creates spans with OpenTelemetry and exports them with OTLP. Spans are dropped and counted if they cannot be exported, so
// that a collector that is down never harms the service.
import { randomUUID } from 'node:crypto';
import {
  type Context,
  type Span as OtelSpan,
  SpanKind as OtelSpanKind,
  ROOT_CONTEXT,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { ExportResultCode, getNumberFromEnv, parseTraceParent } from '@opentelemetry/core';
import {
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TracesSampler } from '../config.ts';
import type { Counter } from '../metrics/instruments.ts';
import { version } from '../process/version.ts';
import { createExporter, type OtlpProtocol } from './exporter.ts';
import { createSampler } from './sampler.ts';
import type { Span, SpanKind, SpanOptions, SpanParent, Tracing } from './tracing.ts';

/** Ended spans that wait for their export, unless OTEL_BSP_MAX_QUEUE_SIZE says otherwise. */
const queueMaxDefault = 2_048;
const batchMaxDefault = 512;
const exportEveryMsDefault = 5_000;
/** How long the end of the process waits for the last export. */
const closeMsMax = 3_000;

interface OpenTelemetryOptions {
  readonly url: string;
  readonly protocol: OtlpProtocol;
  readonly sampler: TracesSampler;
  readonly samplerArg: number;
  /** Counts spans by what became of them. */
  readonly spans: Counter;
}

const kinds: Readonly<Record<SpanKind, OtelSpanKind>> = {
  internal: OtelSpanKind.INTERNAL,
  server: OtelSpanKind.SERVER,
  client: OtelSpanKind.CLIENT,
  consumer: OtelSpanKind.CONSUMER,
};

/** Counts what became of each span, and drops spans when too many wait. */
function createCountedProcessor(exporter: SpanExporter, spans: Counter): SpanProcessor {
  const queueMax = getNumberFromEnv('OTEL_BSP_MAX_QUEUE_SIZE') ?? queueMaxDefault;
  let waiting = 0;
  const batches = new BatchSpanProcessor({
    exporter: {
      export: (batch, done) =>
        exporter.export(batch, (result) => {
          waiting -= batch.length;
          const isExported = result.code === ExportResultCode.SUCCESS;
          spans.add([isExported ? 'exported' : 'failed'], batch.length);
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: async () => exporter.forceFlush?.(),
    },
    maxQueueSize: queueMax,
    maxExportBatchSize:
      getNumberFromEnv('OTEL_BSP_MAX_EXPORT_BATCH_SIZE') ?? Math.min(batchMaxDefault, queueMax),
    scheduledDelayMillis: getNumberFromEnv('OTEL_BSP_SCHEDULE_DELAY') ?? exportEveryMsDefault,
  });
  return {
    onStart: () => {},
    onEnd: (span) => {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
      if (waiting >= queueMax) return spans.add(['dropped']);
      waiting += 1;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}

/** The names of the environment count more than ours. */
function createResource() {
  return resourceFromAttributes({
    'service.name': 'parley',
    'service.version': version,
    'service.instance.id': randomUUID(),
  }).merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));
}

/** A span with the times of a clock that is not set while it is open. */
class TimedSpan implements Span {
  readonly span: OtelSpan;
  readonly traceparent: string;
  readonly #startedAt: number;
  readonly #startMs: number;
  #hasEnded = false;

  constructor(open: (startTime: number) => OtelSpan, startedAt: number) {
    this.#startedAt = startedAt;
    this.#startMs = Date.now() - (performance.now() - startedAt);
    this.span = open(this.#startMs);
    const { traceId, spanId, traceFlags } = this.span.spanContext();
    this.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  set(attributes: Parameters<Span['set']>[0]): void {
    this.span.setAttributes(attributes);
  }

  fail(type: string): void {
    this.span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.span.end(this.#startMs + performance.now() - this.#startedAt);
  }
}

function contextOf(parent: SpanParent): Context {
  if (parent instanceof TimedSpan) return trace.setSpan(ROOT_CONTEXT, parent.span);
  const known = typeof parent === 'string' ? parseTraceParent(parent) : null;
  return known === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...known, isRemote: true });
}

export function openOpenTelemetry(options: OpenTelemetryOptions): Tracing {
  const { url, protocol, sampler, samplerArg, spans } = options;
  const provider = new TracerProvider({
    sampler: createSampler(sampler, samplerArg),
    resource: createResource(),
    spanProcessors: [createCountedProcessor(createExporter(url, protocol), spans)],
  });
  const tracer = provider.getTracer('parley', version);

  return {
    start: (
      name,
      { kind = 'internal', parent, attributes = {}, startedAt = performance.now() }: SpanOptions = {},
    ) =>
      new TimedSpan(
        (startTime) =>
          tracer.startSpan(name, { kind: kinds[kind], attributes, startTime }, contextOf(parent)),
        startedAt,
      ),
    close: async () => {
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, closeMsMax);
      await Promise.race([provider.shutdown().catch(() => {}), late.promise]);
      clearTimeout(timer);
    },
  };
}
