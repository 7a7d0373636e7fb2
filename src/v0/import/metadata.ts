// Translates metadata.json of a V0 conversation. What the file does not say is taken from the log.
import { normaliseRequest, titleOf } from '../../conversations/create/request.ts';
import { CreateConversation } from '../../conversations/create/schema.ts';
import type { ImportedConversation } from '../../conversations/import/service.ts';
import { usageMax } from '../../conversations/usage/shape.ts';
import { nanosPerDollar } from '../../models/money.ts';
import { objectOf } from '../../text/foreignJson.ts';
import { compileCheck } from '../../validation/validation.ts';
import type { LogSummary } from './log.ts';
import { toMs } from './times.ts';

type Fields = Readonly<Record<string, unknown>>;

const titleCharsMax = 200;
const triggerDefault = 'gui';

export interface MetadataOptions {
  readonly id: string;
  readonly metadata: Fields;
  readonly log: LogSummary;
  /** When metadata.json was written, if it does not say itself. */
  readonly writtenAtMs: number;
  readonly nowMs: number;
}

function amount(value: unknown, scale = 1): number {
  const scaled = typeof value === 'number' && value > 0 ? Math.round(value * scale) : 0;
  return Math.min(scaled, usageMax);
}

/** Servers that did not update the file have the sums in the log. */
function usageOf(metadata: Fields, { metrics }: LogSummary) {
  const tokens = objectOf(metrics['accumulated_token_usage']);
  const sum = (own: unknown, logged: unknown, scale?: number) => amount(own, scale) || amount(logged, scale);
  return {
    model_requests: 0,
    input_tokens: sum(metadata['prompt_tokens'], tokens['prompt_tokens']),
    output_tokens: sum(metadata['completion_tokens'], tokens['completion_tokens']),
    cache_read_tokens: amount(tokens['cache_read_tokens']),
    cache_write_tokens: amount(tokens['cache_write_tokens']),
    cost_nanos: sum(metadata['accumulated_cost'], metrics['accumulated_cost'], nanosPerDollar),
  };
}

/** Without characters that a database or a terminal cannot take. */
function lineOf(value: unknown): string {
  if (typeof value !== 'string') return '';
  const line = value
    .slice(0, 10 * titleCharsMax)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return Array.from(line).slice(0, titleCharsMax).join('').trim();
}

const checkRequest = compileCheck(CreateConversation);

/** The fields that a new conversation would accept. */
function requestOf(metadata: Fields) {
  const sent = {
    repository: metadata['selected_repository'],
    git_provider: metadata['git_provider'],
    selected_branch: metadata['selected_branch'],
  };
  const valid = Object.entries(sent).filter(
    ([name, value]) => value != null && value !== '' && checkRequest({ [name]: value }) === undefined,
  );
  return normaliseRequest(Object.fromEntries(valid) as CreateConversation);
}

function triggerOf(value: unknown): string {
  return typeof value === 'string' && /^[a-z_]{1,64}$/.test(value) ? value : triggerDefault;
}

/** The row of the conversation. Wrong values are read as absent. */
export function translateMetadata(options: MetadataOptions): ReturnType<ImportedConversation['describe']> {
  const { id, metadata, log, writtenAtMs, nowMs } = options;
  const request = requestOf(metadata);
  const at = (...values: readonly unknown[]) =>
    values.reduce<number | undefined>((found, value) => found ?? toMs(value, nowMs), undefined);
  const createdAtMs = at(metadata['created_at'], log.firstAt) ?? Math.min(Math.floor(writtenAtMs), nowMs);
  const updatedAtMs = at(metadata['last_updated_at'], log.lastAt) ?? createdAtMs;
  return {
    title: lineOf(metadata['title']) || titleOf(log.firstMessage.toWellFormed().replaceAll('\0', ' '), id),
    trigger: triggerOf(metadata['trigger']),
    repository: request.repository ?? null,
    branch: request.selected_branch ?? null,
    gitProvider: request.git_provider ?? null,
    request: JSON.stringify(request),
    createdAtMs,
    updatedAtMs: Math.max(updatedAtMs, createdAtMs),
    ...usageOf(metadata, log),
  };
}
