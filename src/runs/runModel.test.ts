import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { startRuns } from '../../test/support/runs.ts';
import { temporaryFolder } from '../../test/support/sandboxes.ts';
import { until } from '../../test/support/until.ts';
import { createScriptedModel, listenScriptedModel } from '../agents/trial/scriptedModel/server.ts';
import { scriptedUsage } from '../agents/trial/scriptedModel/wire.ts';
import type { DatabaseKind } from '../db/transaction.ts';

const key = 'sk-hunter2-hunter2';

/** Asks the model as an agent does, so many times, and says what came of each. */
const program = `
const { origin, password } = new URL(process.env.HTTP_PROXY);
const statuses = [];
for (let i = 0; i < Number(process.argv[2]); i++) {
  const answer = await fetch(origin + '/model/openai/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + password, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'any', messages: [{ role: 'user', content: 'hi' }] }),
  });
  statuses.push(answer.status);
}
console.log(statuses.join());
`;

async function startScene(
  t: TestContext,
  kind: DatabaseKind,
  settings: Record<string, unknown>,
  env: Record<string, string> = {},
) {
  const model = createScriptedModel([{ say: 'hello' }]);
  const { origin, close } = await listenScriptedModel(model);
  t.after(close);
  const file = join(temporaryFolder(t), 'ask.mjs');
  writeFileSync(file, program);
  const runs = await startRuns(
    {
      kind,
      env: { PARLEY_MODEL_HOSTS: `openai=${origin}`, ...env },
      settings: { llm_model: 'openai/gpt-4o', llm_api_key: key, ...settings },
    },
    t,
  );
  /** A line for the fake agent. */
  const asking = (count: number) =>
    `really-run env -u NODE_USE_ENV_PROXY ${process.execPath} ${file} ${count}`;
  const usage = async (id: string) => (await runs.service.ask(`/api/conversations/${id}/usage`)).body;
  const answers = async (id: string) =>
    (await runs.events(id)).filter(({ observation }) => observation === 'run').map(({ content }) => content);
  return { ...runs, model, asking, usage, answers };
}

for (const kind of databaseKinds) {
  describe(`the model requests of a run on ${kind}`, () => {
    it('are in the metrics of the process, with the run that made them', async (t) => {
      const { create, turns, stop, asking, service } = await startScene(t, kind, {});
      const id = await create(asking(2));
      await turns(id, 1);
      await stop(id);
      const isCounted = async () => {
        const { text } = await service.ask('/metrics');
        const has = (line: string) => text.split('\n').includes(line);
        return (
          has('parley_claims_total{kind="start"} 1') &&
          has('parley_runs_ended_total{cause="stop"} 1') &&
          has('parley_starting_seconds_count{} 1') &&
          has('parley_model_request_seconds_count{provider="openai"} 2') &&
          /^parley_sandbox_start_seconds_count\{engine="\w+",outcome="started"\} [1-9]/m.test(text) &&
          has('parley_model_requests_total{provider="openai"} 2') &&
          has(`parley_model_tokens_total{provider="openai",kind="output"} ${2 * scriptedUsage.output}`)
        );
      };
      await until('everything is counted', isCounted);
    });

    it('are counted per message', async (t) => {
      const { create, say, turns, asking, usage, answers } = await startScene(t, kind, { max_iterations: 2 });
      const id = await create(asking(2));
      await turns(id, 1);
      await say(id, asking(1));
      await turns(id, 2);
      assert.deepEqual(await answers(id), ['200,200\n', '200\n']);
      const counted = await until('all are stored', async () => {
        const now = await usage(id);
        return now.requests === 3 && now;
      });
      assert.deepEqual(
        [counted.input_tokens, counted.output_tokens],
        [3 * scriptedUsage.input, 3 * scriptedUsage.output],
      );
      assert.ok(counted.cost_usd > 0);
    });

    it('stop it if there are too many for one message', async (t) => {
      const { create, reaches, asking, usage, model } = await startScene(t, kind, { max_iterations: 2 });
      const id = await create(`${asking(5)}\nhang`);
      const { stop_reason: reason } = await reaches(id, 'STOPPED');
      assert.equal(reason?.code, 'max_iterations');
      assert.equal(model.exchanges.length, 2);
      await until('they are stored', async () => (await usage(id)).requests === 2);
    });

    it('stop it if its budget is used up, and again when it continues', async (t) => {
      const settings = { max_budget_per_task: 0.000001 };
      const { create, say, reaches, asking, usage, model } = await startScene(t, kind, settings);
      const id = await create(asking(3));
      assert.equal((await reaches(id, 'STOPPED')).stop_reason?.code, 'max_budget');
      assert.equal(model.exchanges.length, 1);
      await until('its cost is stored', async () => (await usage(id)).cost_usd > 0);
      await say(id, asking(1));
      await until('it has started again', async () => (await reaches(id, 'STOPPED')).stop_reason !== null);
      await until(
        'it was told again',
        async () => (await reaches(id, 'STOPPED')).stop_reason?.code === 'max_budget',
      );
      assert.equal(model.exchanges.length, 1);
    });

    it('stop all conversations of a user whose budget for the day is used up, until it is raised', async (t) => {
      const env = { PARLEY_USER_BUDGET_DAY: '0.000001' };
      const { create, say, turns, reaches, asking, model, service } = await startScene(t, kind, {}, env);
      const first = await create(asking(3));
      const { stop_reason: reason } = await reaches(first, 'STOPPED');
      assert.equal(reason?.code, 'user_budget');
      assert.match(reason?.message ?? '', /used up for today: \$0\.00 of \$0\.00\. .* at 00:00 UTC/);
      assert.equal(model.exchanges.length, 1);
      const second = await create(asking(1));
      assert.equal((await reaches(second, 'STOPPED')).stop_reason?.code, 'user_budget');
      assert.equal(model.exchanges.length, 1);
      const { day, month } = (await service.ask('/api/spending')).body;
      assert.ok(day.spent_usd > 0 && day.budget_usd === 0.000001 && month.budget_usd === null);
      const { text } = await service.ask('/metrics');
      assert.match(text, /^parley_budget_refusals_total\{period="day"\} [2-9]$/m);
      await service.ask('/api/users/owner', { method: 'PATCH', json: { budget_day_usd: 10 } });
      await say(second, asking(1));
      await turns(second, 2);
      assert.equal(model.exchanges.length, 2);
    });
  });
}
