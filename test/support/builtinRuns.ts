// A service that runs conversations with the built-in agent and a model of the test.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Step } from '../../src/agents/trial/scriptedModel/script.ts';
import {
  createScriptedModel,
  listenScriptedModel,
  type ScriptedModel,
} from '../../src/agents/trial/scriptedModel/server.ts';
import { filesOf, type Runs, type RunsOptions, startRuns, type TestEvent } from './runs.ts';

export const modelKey = 'sk-canary-of-the-model-71c2';
/** A model whose price and size are known. */
export const modelName = 'deepseek/deepseek-chat';
export const builtinSettings = { agent: null, llm_model: modelName, llm_api_key: modelKey };

/** Keeps retries short. */
const quick = { firstPauseMs: 5, pauseMsMax: 50 };

export interface BuiltinOptions extends RunsOptions {
  /** Used instead of a scripted one. */
  readonly model?: ScriptedModel;
}

export interface BuiltinRuns<Model> extends Runs {
  readonly model: Model;
  /** Reads a file of its workspace. */
  file(id: string, name: string): Promise<string>;
}

/** The operator's host of that provider. */
export async function listenForModel(t: TestContext, model: ScriptedModel): Promise<Record<string, string>> {
  const { origin, close } = await listenScriptedModel(model);
  t.after(close);
  return { PARLEY_MODEL_HOSTS: `deepseek=${origin}` };
}

export async function startBuiltinWith<Model extends ScriptedModel>(
  t: TestContext,
  model: Model,
  options: RunsOptions = {},
): Promise<BuiltinRuns<Model>> {
  const runs = await startRuns(
    {
      ...options,
      env: { ...(await listenForModel(t, model)), ...options.env },
      settings: { ...builtinSettings, ...options.settings },
      times: { gateway: quick, ...options.times },
    },
    t,
  );
  const file = async (id: string, name: string) =>
    readFileSync(join((await filesOf(runs.service.storage, id)).root, 'workspace', name), 'utf8');
  return { ...runs, model, file };
}

export function startBuiltin(t: TestContext, script: readonly Step[], options: RunsOptions = {}) {
  return startBuiltinWith(t, createScriptedModel(script), options);
}

/** The errors of a log, as `ID: sentence`. */
export function errorsOf(events: readonly TestEvent[]): string[] {
  return events
    .filter(({ observation }) => observation === 'error')
    .map(({ extras, content }) => `${extras?.['error_id']}: ${content}`);
}

export function noticesOf(events: readonly TestEvent[]): string[] {
  return events.filter(({ observation }) => observation === 'notice').map(({ content }) => content ?? '');
}
