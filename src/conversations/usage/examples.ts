// An example of a conversation's usage, for the reference.
import type { Usage } from './schema.ts';

export const usageExample: Usage = {
  requests: 4,
  input_tokens: 5_120,
  output_tokens: 840,
  cache_read_tokens: 12_800,
  cache_write_tokens: 0,
  cost_usd: 0.0318,
};
