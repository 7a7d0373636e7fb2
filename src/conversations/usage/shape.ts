// Converts the usage columns of a conversation to their public form.
import { nanosMax, nanosPerDollar } from '../../models/money.ts';
import type { Usage } from './schema.ts';

export interface UsageColumns {
  readonly model_requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly cost_nanos: number;
}

export const usageColumns = [
  'model_requests',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'cost_nanos',
] as const;

/**
 * The maximum of any sum, also of tokens: providers may report anything.
 */
export const usageMax = nanosMax;

export function toUsage(row: UsageColumns): Usage {
  return {
    requests: Number(row.model_requests),
    input_tokens: Number(row.input_tokens),
    output_tokens: Number(row.output_tokens),
    cache_read_tokens: Number(row.cache_read_tokens),
    cache_write_tokens: Number(row.cache_write_tokens),
    cost_usd: Number(row.cost_nanos) / nanosPerDollar,
  };
}
