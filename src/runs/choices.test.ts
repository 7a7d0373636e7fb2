// The agent and the model that were chosen for one conversation.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { ContentBlock } from '@agentclientprotocol/sdk';
import { hold, isHeld, letGo } from '../../test/fakeAgent/holds.ts';
import { readPrompts } from '../../test/fakeAgent/prompts.ts';
import { errorsOf } from '../../test/support/builtinRuns.ts';
import { createStorage, databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { filesOf, type Runs, type RunsOptions, startRuns } from '../../test/support/runs.ts';
import { approvalRequest, ending } from '../../test/support/runTalk.ts';
import { temporaryFolder } from '../../test/support/sandboxes.ts';
import { until } from '../../test/support/until.ts';

const textOf = (block: ContentBlock) => (block.type === 'text' ? block.text : block.type);

async function patch({ service }: Runs, id: string, json: unknown): Promise<void> {
  const { status, text } = await service.ask(`/api/conversations/${id}`, { method: 'PATCH', json });
  assert.equal(status, 200, text);
}

async function promptsOf({ service }: Runs, id: string) {
  const { home, agents } = await filesOf(service.storage, id);
  const prompts = readPrompts(home).map(({ session, blocks }) => ({ session, texts: blocks.map(textOf) }));
  return { home, prompts, starts: agents() };
}

async function rowOf({ service }: Runs, id: string) {
  const [row] = await inspect(
    service.storage,
    `select agent, agent_session, run_id, always_allowed from conversations where id = '${id}'`,
  );
  return row ?? {};
}

const historyOf = (text: string | undefined) => /<history>\n([\s\S]*)\n<\/history>/.exec(text ?? '')?.[1];

/** A model of two providers, which notes what it was asked with. */
async function startModels(t: TestContext, options: RunsOptions = {}) {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    asked.push(`${request.headers.authorization} ${JSON.parse(body).model}`);
    const message = { role: 'assistant', content: 'hi' };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const file = join(temporaryFolder(t), 'ask.mjs');
  writeFileSync(
    file,
    `const { origin, password } = new URL(process.env.HTTP_PROXY);
    const answer = await fetch(origin + '/model/openai/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer ' + password, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'any', messages: [{ role: 'user', content: 'hi' }] }),
    });
    console.log(answer.status);`,
  );
  const runs = await startRuns(
    {
      ...options,
      env: { PARLEY_MODEL_HOSTS: `openai=${origin},deepseek=${origin},xai=${origin}` },
      settings: { llm_model: 'openai/gpt-4o', llm_api_key: 'sk-settings', ...options.settings },
    },
    t,
  );
  const key = (provider: string, value?: string) =>
    runs.service.ask(`/api/provider-keys/${provider}`, {
      method: value === undefined ? 'DELETE' : 'PUT',
      ...(value === undefined ? {} : { json: { api_key: value } }),
    });
  return {
    ...runs,
    asked,
    key,
    origin,
    asking: `really-run env -u NODE_USE_ENV_PROXY ${process.execPath} ${file}`,
  };
}

for (const kind of databaseKinds) {
  describe(`the agent of a conversation on ${kind}`, { concurrency: 2 }, () => {
    it('is the one that the creation names, whatever the settings say', async (t) => {
      const runs = await startRuns({ kind, settings: { agent: 'absent' } }, t);
      const id = await runs.create('say hello', { agent: 'other' });
      assert.deepEqual(await runs.turns(id, 1), ['hello']);
      const { agent, agent_session: session } = await rowOf(runs, id);
      assert.equal(agent, 'other');
      assert.match(String(session), /^other /);
    });

    it('changes with the next message, in a new session with the history', async (t) => {
      const runs = await startRuns({ kind }, t);
      const id = await runs.create('say noted');
      await runs.turns(id, 1);
      const before = await rowOf(runs, id);
      await patch(runs, id, { agent: 'other' });
      assert.equal((await rowOf(runs, id))['run_id'], before['run_id'], 'the run waits for a message');
      await runs.say(id, 'say again');
      await runs.turns(id, 2);
      const { prompts, starts } = await promptsOf(runs, id);
      const [first, second] = prompts;
      assert.equal(prompts.length, 2);
      assert.notEqual(second?.session, first?.session);
      assert.equal(historyOf(second?.texts[0]), 'User: say noted\n\nYou: noted');
      assert.deepEqual(second?.texts.slice(1), ['say again']);
      assert.deepEqual(
        starts.map(({ beside }) => beside),
        [[], []],
      );
      assert.match(String((await rowOf(runs, id))['agent_session']), /^other /);
      // It keeps this one.
      await runs.say(id, 'say more');
      await runs.turns(id, 3);
      const after = await promptsOf(runs, id);
      assert.deepEqual([after.prompts[2]?.session, after.starts.length], [second?.session, 2]);
    });

    it('stays for the turn that is in progress, and changes for messages that wait', async (t) => {
      const runs = await startRuns({ kind }, t);
      const id = await runs.create();
      await runs.reaches(id, 'RUNNING');
      const { home } = await filesOf(runs.service.storage, id);
      hold(home, 'answer');
      await runs.say(id, 'say one');
      await until('the turn is in progress', () => isHeld(home, 'answer'));
      await runs.say(id, 'say two');
      await patch(runs, id, { agent: 'other' });
      letGo(home, 'answer');
      assert.deepEqual((await runs.turns(id, 2)).at(-1)?.endsWith('two'), true);
      const { prompts } = await promptsOf(runs, id);
      assert.deepEqual(prompts[0]?.texts, ['say one']);
      assert.deepEqual(prompts[1]?.texts.slice(1), ['say two']);
      assert.notEqual(prompts[1]?.session, prompts[0]?.session);
    });

    it('changes while it starts: what was chosen last takes the first message', async (t) => {
      const runs = await startRuns({ kind, flags: ['--slow-start', '300'] }, t);
      const id = await runs.create('say hello');
      await until('its agent starts', async () => (await promptsOf(runs, id)).starts.length === 1);
      await patch(runs, id, { agent: 'other' });
      assert.deepEqual(await runs.turns(id, 1), ['hello']);
      assert.match(String((await rowOf(runs, id))['agent_session']), /^other /);
      assert.equal((await promptsOf(runs, id)).prompts.length, 1);
    });

    it('takes over a turn that was interrupted after the change', async (t) => {
      const storage = await createStorage(kind);
      const first = await startRuns({ storage }, t);
      const id = await first.create('say begun\nrun echo done\nhang');
      await until('it works', async () =>
        (await first.events(id)).some(({ args }) => args?.['content'] === 'begun'),
      );
      await patch(first, id, { agent: 'other' });
      await first.service.stop();
      const second = await startRuns({ storage }, t);
      t.after(() => storage.remove());
      const { prompts } = await until('the turn continues', async () => {
        const now = await promptsOf(second, id);
        return now.prompts.length === 2 && now;
      });
      assert.match(String((await rowOf(second, id))['agent_session']), /^other /);
      assert.notEqual(prompts[1]?.session, prompts[0]?.session);
      assert.match(
        prompts[1]?.texts.join('\n') ?? '',
        /<history>[\s\S]*begun[\s\S]*interrupted[\s\S]*> say begun/,
      );
    });

    it('may not do what the user has always allowed its predecessor', async (t) => {
      const runs = await startRuns({ kind, settings: { confirmation_mode: true } }, t);
      const id = await runs.create('ask-run rm a');
      await approvalRequest(runs, id);
      const json = { decision: 'allow_always' };
      assert.equal((await runs.service.ask(`/api/conversations/${id}/confirm`, { json })).status, 200);
      await runs.turns(id, 1);
      await runs.say(id, 'run rm b\nsay done');
      await runs.turns(id, 2);
      await patch(runs, id, { agent: 'other' });
      await runs.say(id, 'run rm c');
      assert.equal((await ending(runs, id)).code, 'unconfirmed_action');
      assert.equal((await rowOf(runs, id))['always_allowed'], '[]');
    });
  });

  describe(`the approval mode of a conversation on ${kind}`, { concurrency: 2 }, () => {
    const allow = async ({ service }: Runs, id: string) => {
      const json = { decision: 'allow' };
      assert.equal((await service.ask(`/api/conversations/${id}/confirm`, { json })).status, 200);
    };

    it('takes precedence over the settings, from the start and from the next turn on', async (t) => {
      const runs = await startRuns({ kind }, t);
      const id = await runs.create('ask-run rm a', { confirmation_mode: true });
      await approvalRequest(runs, id);
      await allow(runs, id);
      await runs.turns(id, 1);
      await patch(runs, id, { confirmation_mode: false });
      await runs.say(id, 'ask-run rm b\nrun rm c\nsay done');
      assert.equal((await runs.turns(id, 2)).at(-1), 'done');
      // An agent that asks already need not be started again.
      assert.equal((await promptsOf(runs, id)).starts.length, 1);
      assert.notEqual((await runs.service.ask('/api/settings')).body.confirmation_mode, true);
    });

    it('can be off although the settings want approval, and null follows the settings', async (t) => {
      const runs = await startRuns({ kind, settings: { confirmation_mode: true } }, t);
      const id = await runs.create('run rm a\nsay free', { confirmation_mode: false });
      assert.deepEqual(await runs.turns(id, 1), ['free']);
      await patch(runs, id, { confirmation_mode: null });
      await runs.say(id, 'ask-run rm b');
      await approvalRequest(runs, id);
      await allow(runs, id);
      assert.equal((await runs.turns(id, 2)).at(-1), 'completed rm b');
      assert.equal((await promptsOf(runs, id)).starts.length, 2);
    });
  });

  describe(`the model of a conversation on ${kind}`, { concurrency: 2 }, () => {
    it('gets the key of its provider, from the next turn on', async (t) => {
      const runs = await startModels(t, { kind });
      await runs.key('deepseek', 'sk-deepseek');
      const id = await runs.create(runs.asking, { llm_model: 'deepseek/deepseek-chat' });
      await runs.turns(id, 1);
      await patch(runs, id, { llm_model: 'openai/gpt-5' });
      await runs.say(id, runs.asking);
      await runs.turns(id, 2);
      await runs.key('openai', 'sk-openai');
      await runs.say(id, runs.asking);
      await runs.turns(id, 3);
      await patch(runs, id, { llm_model: null });
      await runs.say(id, runs.asking);
      await runs.turns(id, 4);
      assert.deepEqual(runs.asked, [
        'Bearer sk-deepseek deepseek-chat',
        'Bearer sk-settings gpt-5',
        'Bearer sk-openai gpt-5',
        'Bearer sk-settings gpt-4o',
      ]);
      assert.equal((await promptsOf(runs, id)).starts.length, 1, 'its agent stays');
      assert.equal((await runs.service.ask('/api/settings')).body.llm_model, 'openai/gpt-4o');
    });

    it('cannot be used after its key was removed, which the log says', async (t) => {
      const runs = await startModels(t, { kind });
      await runs.key('deepseek', 'sk-deepseek');
      const id = await runs.create(runs.asking, { llm_model: 'deepseek/deepseek-chat' });
      await runs.turns(id, 1);
      await runs.key('deepseek');
      await runs.say(id, runs.asking);
      await runs.turns(id, 2);
      const outputs = (await runs.events(id)).filter(({ observation }) => observation === 'run');
      assert.deepEqual(
        outputs.map(({ content }) => content),
        ['200\n', '402\n'],
      );
      assert.match(errorsOf(await runs.events(id)).join(), /^MODEL: No API key of deepseek is stored\./);
      assert.equal(runs.asked.length, 1);
    });

    it('uses llm_base_url only where that belongs to its provider, and sends no other key there', async (t) => {
      const runs = await startModels(t, { kind });
      const base = `${runs.origin}/custom`;
      await runs.service.ask('/api/settings', { json: { llm_base_url: base } });
      await runs.key('deepseek', 'sk-deepseek');
      await runs.key('openai', 'sk-openai');
      const models = ['openai/gpt-5', 'deepseek/deepseek-chat', 'no-provider', 'openai/gpt-4o'];
      const id = await runs.create();
      await runs.reaches(id, 'RUNNING');
      for (const [i, llm_model] of models.entries()) {
        await patch(runs, id, { llm_model });
        await runs.say(id, runs.asking);
        await runs.turns(id, i + 1);
      }
      assert.deepEqual(runs.asked, [
        'Bearer sk-openai gpt-5',
        'Bearer sk-deepseek deepseek-chat',
        'Bearer sk-settings no-provider',
        'Bearer sk-settings gpt-4o',
      ]);
    });

    it('keeps keys out of events, logs and files, also one that was stored during the run', async (t) => {
      const runs = await startModels(t, { kind });
      const keys = ['sk-canary-one-81f2', 'sk-canary-two-81f2', 'sk-canary-xai-81f2'];
      await runs.key('deepseek', keys[0]);
      await runs.key('xai', keys[2]);
      const id = await runs.create('say ready', { llm_model: 'deepseek/deepseek-chat' });
      await runs.turns(id, 1);
      await runs.key('openai', keys[1]);
      await patch(runs, id, { llm_model: 'openai/gpt-5' });
      await runs.say(id, `${runs.asking}\nsay ${keys.join(' ')}`);
      await runs.turns(id, 2);
      assert.deepEqual(runs.asked, [`Bearer ${keys[1]} gpt-5`]);
      const ofAgent = (await runs.events(id)).filter(({ source }) => source === 'agent');
      const said = JSON.stringify(ofAgent);
      for (const key of keys) {
        assert.ok(!said.includes(key));
        assert.ok(!runs.service.logs().includes(key));
      }
      assert.match(said, /\*{10} \*{10} \*{10}/);
    });
  });
}
