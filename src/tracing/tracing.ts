// Spans of OpenTelemetry, as the rest of the service sees them. Without a configured endpoint there is no Tracing, nothing of
// OpenTelemetry is loaded, and no span costs anything.
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import type { Metrics } from '../metrics/metrics.ts';

export type SpanKind = 'internal' | 'server' | 'client' | 'consumer';

/** Nothing that a user has written or chosen: no text, name, URL or path. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A span of this process, or the traceparent of one in another. */
export type SpanParent = Span | string | null | undefined;

export interface SpanOptions {
  readonly kind?: SpanKind;
  readonly parent?: SpanParent;
  readonly attributes?: SpanAttributes;
  /** In terms of `performance.now()`. */
  readonly startedAt?: number;
}

export interface Span {
  /** For other processes, in the form of W3C Trace Context. */
  readonly traceparent: string;
  set(attributes: SpanAttributes): void;
  /** The type is from a fixed list, because messages of errors may contain what users have written. */
  fail(type: string): void;
  /** Only the first call has an effect. */
  end(): void;
}

export interface Tracing {
  start(name: string, options?: SpanOptions): Span;
  /** Exports what has ended, within a bounded time. Never rejects. */
  close(): Promise<void>;
}

export type TracingConfig = Pick<
  Config,
  'otlpEndpoint' | 'otlpTracesEndpoint' | 'otlpProtocol' | 'tracesSampler' | 'tracesSamplerArg'
>;

/** The path of traces below the endpoint, by the specification of OTLP. */
const tracesPath = 'v1/traces';

function tracesUrl({ otlpEndpoint, otlpTracesEndpoint }: TracingConfig): string | undefined {
  if (otlpTracesEndpoint !== undefined) return otlpTracesEndpoint;
  return otlpEndpoint === undefined ? undefined : `${otlpEndpoint.replace(/\/$/, '')}/${tracesPath}`;
}

/** Returns undefined if no endpoint is configured, or if the standard variable OTEL_SDK_DISABLED turns it off. */
export async function openTracing(config: TracingConfig, metrics: Metrics): Promise<Tracing | undefined> {
  const url = tracesUrl(config);
  if (url === undefined || process.env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return undefined;
  const { openOpenTelemetry } = await import('./openTelemetry.ts');
  const { otlpProtocol: protocol, tracesSampler: sampler, tracesSamplerArg: samplerArg } = config;
  return openOpenTelemetry({ url, protocol, sampler, samplerArg, spans: metrics.spans });
}

const errorCode = /^\w{1,40}$/;

/** The code of an error, which says what happened without a word of a user. */
export function errorTypeOf(error: unknown): string {
  if (error instanceof AppError) return error.code;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && errorCode.test(code) ? code : 'internal';
}

/** Does the work in a span, which fails if the work does. */
export async function traced<Out>(
  tracing: Tracing | undefined,
  name: string,
  options: SpanOptions,
  work: (span?: Span) => Promise<Out>,
): Promise<Out> {
  if (tracing === undefined) return work();
  const span = tracing.start(name, options);
  try {
    return await work(span);
  } catch (error) {
    span.fail(errorTypeOf(error));
    throw error;
  } finally {
    span.end();
  }
}
