// The exporter for a protocol of OTLP. It reads the headers, the timeout and the certificates of the standard variables
// (OTEL_EXPORTER_OTLP_HEADERS and so on) itself.
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Config } from '../config.ts';

export type OtlpProtocol = Config['otlpProtocol'];

export function createExporter(url: string, protocol: OtlpProtocol): SpanExporter {
  return protocol === 'http/json' ? new JsonExporter({ url }) : new ProtobufExporter({ url });
}
