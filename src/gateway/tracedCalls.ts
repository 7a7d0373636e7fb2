// A span for each model request, with the names of the semantic conventions for generative AI.
import type { Models } from '../models/catalogue.ts';
import { plainModelName } from '../models/providers.ts';
import type { Span, SpanAttributes, Tracing } from '../tracing/tracing.ts';
import { type ModelCallResult, type ObserveModelCall, providerLabel } from './modelCalls.ts';

/** The conventions have their own names of some providers. */
const providerNames: Readonly<Record<string, string>> = {
  gemini: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
  other: '_OTHER',
};
/** The name of any other model may be what a user has chosen. */
const otherModel = '_OTHER';

interface TracedCallsOptions {
  readonly tracing: Tracing;
  readonly models: Models;
  readonly parent: () => Span | undefined;
}

function resultAttributes({ status, tokens }: ModelCallResult, retries: number): SpanAttributes {
  return {
    ...(status === undefined ? {} : { 'http.response.status_code': status }),
    ...(retries === 0 ? {} : { 'http.request.resend_count': retries }),
    ...(tokens === undefined
      ? {}
      : {
          // Cached tokens are part of the input by the conventions.
          'gen_ai.usage.input_tokens': tokens.input + tokens.cacheRead + tokens.cacheWrite,
          'gen_ai.usage.output_tokens': tokens.output,
          'gen_ai.usage.cache_read.input_tokens': tokens.cacheRead,
          'gen_ai.usage.cache_creation.input_tokens': tokens.cacheWrite,
        }),
  };
}

export function traceCalls({ tracing, models, parent }: TracedCallsOptions): ObserveModelCall {
  return (model) => {
    const provider = providerLabel(model);
    const name = models.find(model) === undefined ? otherModel : plainModelName(model);
    const span = tracing.start(`chat ${name}`, {
      kind: 'client',
      parent: parent(),
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': providerNames[provider] ?? provider,
        'gen_ai.request.model': name,
      },
    });
    let retries = 0;
    return {
      onRetry: () => {
        retries += 1;
      },
      end: (result) => {
        span.set(resultAttributes(result, retries));
        if (result.failure !== undefined) span.fail(result.failure);
        span.end();
      },
    };
  };
}
