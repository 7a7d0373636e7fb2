// The example bot, as a person would run it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const file = resolve(import.meta.dirname, '../../examples/bot.ts');
const secret = 'a-shared-secret';

async function startBot(t: TestContext) {
  const service = await startService({}, t);
  const env = { PARLEY_URL: service.url, PARLEY_KEY: service.key, BOT_SECRET: secret, PORT: '0' };
  const child = spawn(process.execPath, [file], { env: { PATH: process.env['PATH'], ...env } });
  t.after(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout.on('data', (text) => (said += text));
  child.stderr.on('data', (text) => (said += text));
  const port = await until('the bot listens', () => /port: (\d+)/.exec(said)?.[1]);

  async function post(payload: object, delivery: string | undefined, key = secret) {
    const body = JSON.stringify(payload);
    const signature = `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;
    const headers = {
      'x-hub-signature-256': signature,
      ...(delivery === undefined ? {} : { 'x-github-delivery': delivery }),
    };
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers });
    return { status: answer.status, body: (await answer.json()) as Record<string, string> };
  }
  return { service, post };
}

const opened = {
  action: 'opened',
  issue: { number: 7, title: 'It breaks', body: 'On Mondays.', author_association: 'MEMBER' },
  repository: { full_name: 'acme/shop' },
};

describe('examples/bot.ts', () => {
  it('has less than 60 lines', () => {
    assert.ok(readFileSync(file, 'utf8').trimEnd().split('\n').length < 60);
  });

  it('starts one conversation for an issue, however often it is told', async (t) => {
    const { service, post } = await startBot(t);
    const first = await post(opened, 'delivery-1');
    assert.equal(first.status, 202, JSON.stringify(first.body));
    const id = String(first.body['conversation_id']);
    assert.equal((await post(opened, 'delivery-1')).body['conversation_id'], id);
    const { body } = await service.ask('/api/conversations');
    assert.deepEqual(
      body.results.map((info: Record<string, string>) => [
        info['conversation_id'],
        info['selected_repository'],
      ]),
      [[id, 'acme/shop']],
    );
    const { body: log } = await service.ask(`/api/conversations/${id}/events?limit=1`);
    assert.match(log.events[0].message, /^Solve issue #7, "It breaks".*On Mondays\.$/s);
  });

  it('starts none for other news or strangers, nor for what is not signed with its secret, 401, or has no id, 400', async (t) => {
    const { service, post } = await startBot(t);
    assert.deepEqual(await post({ ...opened, action: 'closed' }, 'a'), {
      status: 200,
      body: { ignored: true },
    });
    assert.equal((await post(opened, 'b', 'another-secret')).status, 401);
    assert.equal((await post(opened, undefined)).status, 400);
    const strange = { ...opened, issue: { ...opened.issue, author_association: 'NONE' } };
    assert.deepEqual((await post(strange, 'c')).body, { ignored: true });
    assert.deepEqual((await service.ask('/api/conversations')).body.results, []);
  });
});
