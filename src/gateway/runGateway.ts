// The gateway of one run: it applies the limits of the settings and stores the usage in the conversation.

import type { Bodies } from '../bridge/bodies.ts';
import type { BudgetLimits } from '../budgets/limits.ts';
import type { ClaimedConversation } from '../conversations/run/claimStore.ts';
import { toUsage, type UsageColumns, usageMax } from '../conversations/usage/shape.ts';
import { addUsage } from '../conversations/usage/store.ts';
import type { Database } from '../db/transaction.ts';
import type { LlmMetrics } from '../events/vocabulary/fields.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Models } from '../models/catalogue.ts';
import { nanosPerDollar } from '../models/money.ts';
import type { ModelHosts } from '../models/providers.ts';
import type { AllowPrivate } from '../outgoing/privateHosts.ts';
import { repeat } from '../process/repeat.ts';
import type { FullSettings } from '../settings/schema.ts';
import type { Span, Tracing } from '../tracing/tracing.ts';
import { createGateway, type Gateway } from './handler.ts';
import { type ObserveModelCall, observeWithAll, providerLabel } from './modelCalls.ts';
import type { Target } from './target.ts';
import type { GatewayTimes } from './times.ts';
import { traceCalls } from './tracedCalls.ts';
import {
  add,
  createMeter,
  type Limits,
  type Meter,
  type ModelLimit,
  noUsage,
  type Usage,
} from './usage/meter.ts';
import { freeNote } from './usage/prices.ts';
import { createUserBudget } from './usage/userBudget.ts';

const storeEveryMs = 2_000;

/** The settings that concern the model. */
export interface RunModel {
  readonly settings: Pick<
    FullSettings,
    'llm_model' | 'llm_base_url' | 'max_iterations' | 'max_budget_per_task'
  >;
  readonly key: string | undefined;
}

interface RunGatewayOptions {
  readonly database: Database;
  readonly runId: string;
  readonly conversation: ClaimedConversation;
  /** The budget of users who have none of their own. */
  readonly budgetOfAll: BudgetLimits;
  readonly nextId: () => string;
  readonly model: RunModel;
  /** Reads the current settings. */
  readonly loadModel: () => Promise<RunModel>;
  readonly modelHosts: ModelHosts;
  readonly models: Models;
  readonly allowPrivate: AllowPrivate;
  readonly bodies: Bodies;
  readonly onNotice: (sentence: string, isFault: boolean) => void;
  readonly onLimit: (limit: ModelLimit, sentence?: string) => void;
  readonly onBackgroundError: (error: Error) => void;
  readonly metrics?: Metrics;
  readonly tracing?: Tracing | undefined;
  /** What model requests are a part of, if traces are recorded. */
  readonly parentSpan?: () => Span | undefined;
  /** Shorter ones, for tests. */
  readonly times?: Partial<GatewayTimes>;
}

export interface RunGateway extends Pick<Gateway, 'handle'> {
  /** Starts a turn: requests are counted from here, and go to the model in the current settings. */
  beginTurn(): Promise<void>;
  /** What the conversation has used of its model so far; undefined if nothing was metered. */
  metrics(): LlmMetrics | undefined;
  /** Ends a turn. Its usage is stored soon. */
  endTurn(): void;
  /** Aborts open requests and stores their usage. Nothing is open afterwards. */
  close(): Promise<void>;
}

function toColumns({ requests, input, output, cacheRead, cacheWrite, costNanos }: Usage): UsageColumns {
  return {
    model_requests: requests,
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    cost_nanos: costNanos,
  };
}

function toTarget({ settings, key }: RunModel): Target {
  return { model: settings.llm_model, baseUrl: settings.llm_base_url, key };
}

function toLimits({ settings }: RunModel): Limits {
  const { max_iterations: requestsMax, max_budget_per_task: budget } = settings;
  return {
    requestsMax: requestsMax ?? null,
    costNanosMax: budget == null ? null : Math.min(Math.round(budget * nanosPerDollar), usageMax),
  };
}

/** What was used before this run and in it, in the words of existing clients, who count cached tokens as input. */
function toMetrics(
  before: UsageColumns,
  counted: ReturnType<Meter['total']>,
  { settings }: RunModel,
  models: Models,
): LlmMetrics | undefined {
  const [stored, now] = [toUsage(before), toUsage(toColumns(counted))];
  const sum = (name: keyof typeof stored) => stored[name] + now[name];
  const [cacheRead, cacheWrite] = [sum('cache_read_tokens'), sum('cache_write_tokens')];
  const prompt = sum('input_tokens') + cacheRead + cacheWrite;
  const { input, output, cacheRead: read, cacheWrite: written } = counted.latest;
  if (prompt + sum('output_tokens') === 0) return undefined;
  return {
    accumulated_cost: sum('cost_usd'),
    max_budget_per_task: settings.max_budget_per_task ?? null,
    accumulated_token_usage: {
      prompt_tokens: prompt,
      completion_tokens: sum('output_tokens'),
      cache_read_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
      context_window: models.find(settings.llm_model ?? '')?.context ?? 0,
      per_turn_token: input + read + written + output,
    },
  };
}

/** Whether earlier runs of the conversation have used a model that costs nothing, and therefore said so. */
function wasFree({ model_requests, cost_nanos }: UsageColumns): boolean {
  return Number(model_requests) > 0 && Number(cost_nanos) === 0;
}

function countUsage(metrics: Metrics, { settings }: RunModel, usage: Usage): void {
  const provider = providerLabel(settings.llm_model);
  metrics.modelRequests.add([provider], usage.requests);
  metrics.modelCost.add([provider], usage.costNanos / nanosPerDollar);
  for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite'] as const)
    metrics.modelTokens.add([provider, kind], usage[kind]);
}

function countCalls({ modelRetries, modelFailures, modelSeconds }: Metrics): ObserveModelCall {
  return (model) => {
    const provider = providerLabel(model);
    const since = performance.now();
    return {
      onRetry: () => modelRetries.add([provider]),
      end: ({ failure }) => {
        modelSeconds.observe([provider], (performance.now() - since) / 1_000);
        if (failure !== undefined) modelFailures.add([provider, failure]);
      },
    };
  };
}

function createObserver({ metrics, tracing, models, parentSpan }: RunGatewayOptions): ObserveModelCall {
  return observeWithAll([
    ...(metrics === undefined ? [] : [countCalls(metrics)]),
    ...(tracing === undefined ? [] : [traceCalls({ tracing, models, parent: () => parentSpan?.() })]),
  ]);
}

export function createRunGateway(options: RunGatewayOptions): RunGateway {
  const { database, runId, conversation, model, loadModel, onLimit, onBackgroundError } = options;
  const budget = createUserBudget({
    database,
    conversation,
    runId,
    ofAll: options.budgetOfAll,
    nextId: options.nextId,
    onReached: (period, sentence) => {
      options.metrics?.budgetRefusals.add([period]);
      onLimit('user_budget', sentence);
    },
    store: () => stores.run(),
    onBackgroundError,
  });
  const meter = createMeter({
    limits: toLimits(model),
    spentNanos: Number(conversation.cost_nanos),
    onLimit,
  });
  const gateway = createGateway({
    ...options,
    ...toTarget(model),
    meter,
    budget,
    observeCall: createObserver(options),
    knownNotices: wasFree(conversation) ? [freeNote] : [],
  });
  let known = model;
  let unstored = noUsage;
  let unreleased: readonly string[] = [];

  async function store(): Promise<void> {
    const counted = meter.take();
    if (options.metrics !== undefined) countUsage(options.metrics, known, counted);
    const usage = add(unstored, counted);
    const released = [...unreleased, ...budget.takeReleasable()];
    unstored = usage;
    unreleased = released;
    if (usage.requests + usage.costNanos + usage.input + usage.output + released.length === 0) return;
    const { key, user_id: userId } = conversation;
    await database.run(addUsage, { key, userId, released, ...toColumns(usage) });
    unstored = noUsage;
    unreleased = [];
  }
  const stores = repeat(store, storeEveryMs, onBackgroundError);

  return {
    handle: gateway.handle,
    beginTurn: async () => {
      try {
        known = await loadModel();
      } catch (error) {
        // The model of the last turn is better than none.
        onBackgroundError(error as Error);
      }
      budget.beginTurn();
      gateway.beginTurn(toTarget(known));
      meter.beginTurn(toLimits(known));
    },
    metrics: () => toMetrics(conversation, meter.total(), known, options.models),
    endTurn: () => void stores.run(),
    close: async () => {
      await gateway.close();
      await stores.stop();
      await stores.run();
    },
  };
}
