// A collector of OpenTelemetry that keeps the spans it gets as JSON, and responds as configured.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { until } from './until.ts';

export interface ReceivedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2 is an error. */
  readonly status: number | undefined;
  readonly startNs: bigint;
  readonly endNs: bigint;
  /** Tells processes apart. */
  readonly instance: unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: the JSON of OTLP
type Json = any;

const plainValue = (value: Json): unknown => {
  const [first] = Object.entries(value ?? {});
  return first?.[0] === 'intValue' ? Number(first[1]) : first?.[1];
};

const attributesOf = (list: Json[] = []): Record<string, unknown> =>
  Object.fromEntries(list.map(({ key, value }) => [key, plainValue(value)]));

function spansOf(body: Json): ReceivedSpan[] {
  return body.resourceSpans.flatMap(({ resource, scopeSpans }: Json) => {
    const instance = attributesOf(resource.attributes)['service.instance.id'];
    return scopeSpans.flatMap(({ spans }: Json) =>
      spans.map((span: Json) => ({
        name: span.name,
        kind: span.kind,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId || undefined,
        attributes: attributesOf(span.attributes),
        status: span.status?.code,
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
        instance,
      })),
    );
  });
}

export interface OtlpReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  /** What processes need in order to send their spans here soon. */
  readonly env: Record<string, string>;
  spans(): readonly ReceivedSpan[];
  /** Everything that arrived, as text. */
  text(): string;
  readonly requests: readonly { readonly path: string; readonly contentType: string | undefined }[];
  answer(status: number): void;
  /** Waits for a span with this name. */
  span(name: string, isMeant?: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>;
}

export async function startOtlpReceiver(t: { after(fn: () => Promise<void>): void }): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const requests: { path: string; contentType: string | undefined }[] = [];
  let text = '';
  let status = 200;
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const contentType = request.headers['content-type'];
    requests.push({ path: request.url ?? '', contentType });
    text += `${JSON.stringify(request.headers)}\n${body.toString('latin1')}\n`;
    if (contentType === 'application/json') spans.push(...spansOf(JSON.parse(body.toString())));
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    },
    spans: () => spans,
    text: () => text,
    requests,
    answer: (next) => {
      status = next;
    },
    span: (name, isMeant = () => true) =>
      until(`the span ${name}`, () => spans.find((span) => span.name === name && isMeant(span))),
  };
}
