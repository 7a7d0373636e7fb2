import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startRuns, type TestEvent } from '../../../test/support/runs.ts';
import { until } from '../../../test/support/until.ts';
import { createNotifier } from './notifyCommand.ts';

/** Longer than any test. */
const patientMs = 600_000;

/** Writes a program of these lines of shell. `$0.NAME` are files beside it. */
function program(t: TestContext, ...lines: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-notify-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'notify');
  writeFileSync(file, ['#!/bin/sh', ...lines].join('\n'));
  chmodSync(file, 0o755);
  return file;
}

function begin(t: TestContext, command: readonly string[], timeoutMs?: number) {
  const faults: string[] = [];
  const notifier = createNotifier({
    command,
    publicUrl: 'https://parley.example.com',
    onError: ({ message }) => faults.push(message),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  t.after(notifier.close);
  const notify = (eventId = 7) =>
    notifier.notify({ conversationId: 'c 1', eventId, message: 'Run `rm -r build`' });
  return { notify, faults, close: notifier.close };
}

const written = (file: string) =>
  until(`${file} is there`, () => existsSync(file) && readFileSync(file, 'utf8'));

/** The program moves its output to its place when it is complete. */
const finish = (name: string) => `mv "$0.part" "$0.${name}"`;

describe('the notification command', () => {
  it('gets its arguments as they are, and the details as JSON and in variables', async (t) => {
    const file = program(
      t,
      'printf "%s\\n" "$1" "$PARLEY_NOTIFICATION" "$PARLEY_CONVERSATION_ID" "$PARLEY_EVENT_ID" "$PARLEY_CONVERSATION_URL" >"$0.part"',
      'cat >>"$0.part"',
      finish('out'),
    );
    begin(t, [file, '$HOME; echo "x"']).notify();
    const [argument, type, id, event, url, json = ''] = (await written(`${file}.out`)).split('\n');
    const link = 'https://parley.example.com/conversations/c%201';
    assert.deepEqual(
      [argument, type, id, event, url],
      ['$HOME; echo "x"', 'approval_requested', 'c 1', '7', link],
    );
    assert.deepEqual(JSON.parse(json), {
      type: 'approval_requested',
      conversation_id: 'c 1',
      event_id: 7,
      message: 'Run `rm -r build`',
      url: link,
    });
  });

  it('does not inherit the secrets of the service', async (t) => {
    process.env['PARLEY_SECRET_CANARY'] = 'canary-of-the-service';
    t.after(() => delete process.env['PARLEY_SECRET_CANARY']);
    const file = program(t, 'env >"$0.part"', finish('out'));
    begin(t, [file]).notify();
    assert.doesNotMatch(await written(`${file}.out`), /canary-of-the-service/);
  });

  it('reports a failure with its error output, and a program that is gone', async (t) => {
    const failing = begin(t, [program(t, 'echo no route >&2; exit 3')]);
    failing.notify();
    await until('it is reported', () => failing.faults.length === 1);
    assert.match(failing.faults[0] ?? '', /ended with 3\. no route$/);
    const missing = begin(t, ['/nowhere/notify']);
    missing.notify();
    await until('it is reported', () => missing.faults.length === 1);
    assert.match(missing.faults[0] ?? '', /could not be run: .*ENOENT/);
  });

  it('is killed after the timeout', async (t) => {
    const { notify, faults } = begin(t, [program(t, 'sleep 600')], 20);
    notify();
    await until('it is reported', () => faults.length === 1);
    assert.match(faults[0] ?? '', /was killed after 20 ms/);
  });

  it('is killed with its children when the service stops', async (t) => {
    const file = program(t, 'sleep 600 & echo $! >"$0.part"', finish('child'), 'wait');
    const { notify, close, faults } = begin(t, [file], patientMs);
    notify();
    const child = Number(await written(`${file}.child`));
    close();
    await until('the child is gone', () => {
      try {
        return /^State:\s+Z/m.test(readFileSync(`/proc/${child}/status`, 'utf8'));
      } catch {
        return true;
      }
    });
    assert.deepEqual(faults, []);
  });

  it('runs four times at once, and the next ones wait, up to a hundred', async (t) => {
    const file = program(t, 'touch "$0.$PARLEY_EVENT_ID"; while [ ! -e "$0.go" ]; do sleep 0.01; done');
    const { notify, faults } = begin(t, [file], patientMs);
    for (let i = 1; i <= 105; i++) notify(i);
    for (const i of [1, 2, 3, 4]) await until(`${i} runs`, () => existsSync(`${file}.${i}`));
    assert.ok(!existsSync(`${file}.5`));
    assert.equal(faults.length, 1);
    assert.match(faults[0] ?? '', /too many notifications wait/);
    writeFileSync(`${file}.go`, '');
    await until('the last ran', () => existsSync(`${file}.104`));
    assert.ok(!existsSync(`${file}.105`));
  });

  it('is run once for an approval request of a conversation, and not for what needs none', async (t) => {
    const file = program(t, 'cat >"$0.part"', finish('$PARLEY_EVENT_ID'));
    const env = { PARLEY_NOTIFY_COMMAND: file };
    const runs = await startRuns({ settings: { confirmation_mode: true }, env }, t);
    const id = await runs.create('say hello\nask execute rm one');
    const asks = ({ args }: TestEvent) => args?.['confirmation_state'] === 'awaiting_confirmation';
    const asked = await until('it asks', async () => (await runs.events(id)).find(asks));
    const { conversation_id, message, url } = JSON.parse(await written(`${file}.${asked.id}`));
    assert.deepEqual([conversation_id, message, url], [id, asked.message, null]);
    await runs.service.ask(`/api/conversations/${id}/confirm`, { json: { decision: 'allow' } });
    await runs.turns(id, 1);
    assert.deepEqual(readdirSync(dirname(file)).toSorted(), ['notify', `notify.${asked.id}`]);
  });

  it('gets no secret that Parley knows', async (t) => {
    const secret = 'canary-of-a-secret-value';
    const file = program(t, 'env >"$0.part"', 'cat >>"$0.part"', finish('out'));
    const env = { PARLEY_NOTIFY_COMMAND: file };
    const runs = await startRuns({ settings: { confirmation_mode: true }, env }, t);
    await runs.service.ask('/api/secrets', { json: { name: 'TOKEN', value: secret } });
    await runs.create(`ask execute echo ${secret} to everybody`);
    const got = await written(`${file}.out`);
    assert.match(got, /echo \S+ to everybody/);
    assert.ok(!got.includes(secret), got);
  });

  const broken: readonly (readonly [string, RegExp | undefined, ...string[]])[] = [
    ['hangs', undefined, 'trap "" TERM; touch "$0.began"; while :; do sleep 600; done'],
    ['fails', /ended with 3/, 'touch "$0.began"; exit 3'],
    ['closes its input and floods its output', undefined, 'exec <&-; touch "$0.began"; exec yes >&2'],
    ['is gone', /could not be run/],
  ];
  for (const [what, logged, ...lines] of broken)
    it(`harms neither the conversation nor the end of the service if it ${what}`, async (t) => {
      const file = program(t, ...lines);
      const env = { PARLEY_NOTIFY_COMMAND: file };
      const runs = await startRuns({ settings: { confirmation_mode: true }, env }, t);
      if (lines.length === 0) rmSync(file);
      const id = await runs.create('ask execute rm one');
      const waits = async () => (await runs.info(id)).agent_state === 'awaiting_user_confirmation';
      await until('it asks', waits);
      if (lines.length > 0) await until('the command began', () => existsSync(`${file}.began`));
      if (logged !== undefined) await until('it is logged', () => logged.test(runs.service.logs()));
      await runs.service.ask(`/api/conversations/${id}/confirm`, { json: { decision: 'allow' } });
      assert.deepEqual(await runs.turns(id, 1), ['the answer was once']);
      await runs.service.stop();
    });
});
