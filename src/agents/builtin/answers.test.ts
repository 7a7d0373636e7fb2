// Turns with responses of a model that are odd, broken or large.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type AgentBench, startAgentBench, startRawBench } from '../../../test/support/agentBench.ts';
import {
  calling,
  cutOff,
  lines,
  type RawAnswer,
  type RawBody,
  refusing,
  run,
  saying,
  stream,
} from '../../../test/support/rawModel.ts';
import { until } from '../../../test/support/until.ts';

const results = ({ messages }: RawBody): string[] =>
  messages.filter(({ role }: RawBody) => role === 'tool').map(({ content }: RawBody) => content);

const thoughts = ({ updates }: Pick<AgentBench, 'updates'>): string =>
  updates
    .map((update) =>
      update.sessionUpdate === 'agent_thought_chunk' && update.content.type === 'text'
        ? update.content.text
        : '',
    )
    .join('|');

const log = ({ cwd }: { readonly cwd: string }) => readFileSync(join(cwd, 'log'), 'utf8');

const half = [{ role: 'assistant', content: 'The answer is ' }, { content: 'forty' }];
const callDelta = (more: object) => ({
  tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'bash', ...more } }],
});

describe('a response that breaks off', () => {
  it('is requested again, and its calls are executed once', async (t) => {
    const once = cutOff([callDelta({ arguments: '{"command":"echo x >>log"}' })]);
    const bench = await startRawBench(t, [once, calling([run('echo x >>log')]), saying('Done.')]);
    assert.equal(await bench.prompt('go'), 'end_turn');
    assert.equal(log(bench), 'x\n');
    assert.equal(bench.ended().length, 1);
    assert.match(thoughts(bench), /was interrupted\. Trying again\.\n\n/);
  });

  it('is not requested again after a cancellation, and the history is complete', async (t) => {
    const answers = [calling([run('echo x >>log')]), cutOff(half), saying('Here.')];
    const bench = await startRawBench(t, answers, { retryMs: 60_000 });
    const turn = bench.prompt('go');
    await until('it waits', async () => /Trying again/.test(thoughts(bench)));
    await bench.cancel();
    assert.equal(await turn, 'cancelled');
    await bench.prompt('and now?');
    const roles = bench.bodies[2].messages.map(({ role }: RawBody) => role);
    assert.deepEqual(roles, ['system', 'user', 'assistant', 'tool', 'user']);
  });

  it('leaves nothing in later requests', async (t) => {
    const bench = await startRawBench(t, [cutOff(half), saying('The answer is 42.'), saying('Yes.')]);
    assert.equal(await bench.prompt('go'), 'end_turn');
    assert.ok(bench.said().endsWith('The answer is 42.'));
    await bench.prompt('sure?');
    const said = bench.bodies[2].messages.filter(({ role }: RawBody) => role === 'assistant');
    assert.deepEqual(
      said.map(({ content }: RawBody) => content),
      ['The answer is 42.'],
    );
  });

  const always: Readonly<Record<string, RawAnswer>> = {
    'is cut off': cutOff(half),
    'has no end': stream(half, null),
    'is garbage': lines('data: {"choices":[{"delta":', 'data: nonsense'),
    'tells of an error': lines('data: {"error":{"message":"the engine is on fire"}}'),
    'is a page': (response) => response.end('<html>Welcome to the portal</html>'),
  };
  for (const [name, answer] of Object.entries(always))
    it(`ends the turn with a message if it always ${name}, and the next message is handled`, async (t) => {
      const bench = await startRawBench(t, [answer, answer, answer, answer, saying('Here I am.')]);
      await assert.rejects(bench.prompt('go'), (error: Error) => {
        assert.match(error.message, /^The model's answer could not be read, in 4 attempts/);
        return true;
      });
      assert.equal(bench.bodies.length, 4);
      assert.equal(await bench.prompt('and now?'), 'end_turn');
      assert.ok(bench.said().endsWith('Here I am.'));
    });

  it('reports the message of the provider', async (t) => {
    const bench = await startRawBench(t, [lines('data: {"error":{"message":"the engine is on fire"}}')]);
    await assert.rejects(bench.prompt('go'), /the engine is on fire/);
  });
});

describe('a request that the provider refuses', () => {
  it('is reported with the message of the provider, and sent once', async (t) => {
    const bench = await startRawBench(t, [refusing(400, 'tools.3: no such thing'), saying('Better.')]);
    await assert.rejects(
      bench.prompt('go'),
      /^RequestError: The model refused the request \(400\): tools\.3/,
    );
    assert.equal(bench.bodies.length, 1);
    assert.equal(await bench.prompt('again'), 'end_turn');
  });
});

describe('images that the model does not accept', () => {
  const image = { type: 'image' as const, data: 'AAAA', mimeType: 'image/png' };
  const prompt = [{ type: 'text' as const, text: 'what is this?' }, image];
  const no: RawAnswer = (response, body) =>
    (JSON.stringify(body).includes('image_url') ? refusing(400, 'unknown variant') : saying('Seen.'))(
      response,
      body,
    );

  it('are left out, reported, and not sent again, even after a kill', async (t) => {
    const bench = await startRawBench(t, [no]);
    assert.equal(await bench.prompt(prompt), 'end_turn');
    assert.match(thoughts(bench), /does not accept these images/);
    assert.match(JSON.stringify(bench.bodies[1].messages), /An image was here/);
    await bench.prompt('and now?');
    assert.equal(bench.bodies.length, 3);
    await bench.close();
    const next = await startAgentBench(t, { model: bench.model, home: bench.home, cwd: bench.cwd });
    await next.resume(bench.sessionId());
    await next.prompt('still there?');
    assert.equal(bench.bodies.length, 4);
  });

  it('are kept if they are not the reason for the refusal', async (t) => {
    const bench = await startRawBench(t, [refusing(400, 'a'), refusing(400, 'b'), saying('Seen.')]);
    await assert.rejects(bench.prompt(prompt), /\(400\): a$/);
    await bench.prompt('again');
    assert.match(JSON.stringify(bench.bodies[2].messages), /image_url/);
  });

  it('of a tool are left out, too; accepted ones follow its text result', async (t) => {
    const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk', 'base64');
    const read = calling([{ name: 'read_file', arguments: '{"path":"a.png"}' }]);
    const bench = await startRawBench(t, [read, refusing(422, 'no'), saying('Seen.')]);
    writeFileSync(join(bench.cwd, 'a.png'), png);
    assert.equal(await bench.prompt('look'), 'end_turn');
    const [, shown, without] = bench.bodies;
    assert.doesNotMatch(results(shown).join(), /iVBOR/);
    assert.match(JSON.stringify(shown.messages.at(-1)), /"user".*image_url.*iVBOR/);
    assert.doesNotMatch(JSON.stringify(without.messages), /iVBOR/);
    assert.equal(bench.said(), 'Seen.');
  });
});

describe('an odd response', () => {
  it('without content ends the turn, is reported, and does not affect what follows', async (t) => {
    for (const empty of [stream([{ role: 'assistant' }]), saying(''), stream([], 'stop')]) {
      const bench = await startRawBench(t, [empty, saying('Here.')]);
      assert.equal(await bench.prompt('go'), 'end_turn');
      assert.match(thoughts(bench), /without a word/);
      await bench.prompt('again');
      const roles = bench.bodies[1].messages.map(({ role }: RawBody) => role);
      assert.deepEqual(roles, ['system', 'user', 'user']);
    }
  });

  it('that announces calls but has none ends the turn', async (t) => {
    const bench = await startRawBench(t, [saying('Well.', 'tool_calls')]);
    assert.equal(await bench.prompt('go'), 'end_turn');
    assert.equal(bench.bodies.length, 1);
  });

  it('that is too long ends the turn for that reason', async (t) => {
    const bench = await startRawBench(t, [saying('And so on and', 'length')]);
    assert.equal(await bench.prompt('go'), 'max_tokens');
  });

  it('with an invalid input or tool gets an error result, and the model tries again', async (t) => {
    const bad = [
      { name: 'bash', arguments: '{"command": "echo' },
      { name: 'no_such_tool', arguments: '{}' },
      { name: 'bash', arguments: '{"cmd":"x"}' },
    ];
    for (const call of bad)
      for (const reason of ['tool_calls', 'stop']) {
        const bench = await startRawBench(t, [calling([call], reason), saying('Sorry.')]);
        assert.equal(await bench.prompt('go'), 'end_turn');
        assert.equal(bench.bodies.length, 2, `${call.arguments} ${reason}`);
        const [told] = results(bench.bodies[1]);
        assert.ok(told, call.name);
        assert.ok(bench.said().endsWith('Sorry.'));
      }
  });

  it('with valid and invalid calls gets one result for each, in one message', async (t) => {
    const calls = [run('echo a >>log'), { name: 'bash', arguments: '{' }, run('echo b >>log')];
    const bench = await startRawBench(t, [calling(calls), saying('Ok.')]);
    assert.equal(await bench.prompt('go'), 'end_turn');
    assert.equal(log(bench), 'a\nb\n');
    assert.equal(results(bench.bodies[1]).length, 3);
    const ids = bench.bodies[1].messages.flatMap(({ tool_call_id: id }: RawBody) => id ?? []);
    assert.equal(new Set(ids).size, 3);
  });

  it('with thirty calls has all of them executed in order', async (t) => {
    const many = Array.from({ length: 30 }, (_, i) => run(`echo ${i} >>log`));
    const bench = await startRawBench(t, [calling(many), saying('Ok.')]);
    assert.equal(await bench.prompt('go'), 'end_turn');
    assert.equal(log(bench), many.map((_, i) => `${i}\n`).join(''));
    assert.equal(results(bench.bodies[1]).length, 30);
  });

  it('with an id that was used before is reported as another call', async (t) => {
    const bench = await startRawBench(t, [calling([run('true')]), calling([run('true')]), saying('Ok.')]);
    await bench.prompt('go');
    assert.equal(new Set(bench.ended().map(({ toolCallId }) => toolCallId)).size, 2);
  });

  it('of two million characters is sent completely', async (t) => {
    const long = Array.from({ length: 200 }, () => ({ content: 'x'.repeat(10_000) }));
    const bench = await startRawBench(t, [stream(long)]);
    assert.equal(await bench.prompt('go'), 'end_turn');
    assert.equal(bench.said().length, 2_000_000);
  });

  it('whose command writes five megabytes returns the start and the end to the model', async (t) => {
    const bench = await startRawBench(t, [calling([run('yes | head -c 5000000')]), saying('Much.')]);
    assert.equal(await bench.prompt('go'), 'end_turn');
    const [told = ''] = results(bench.bodies[1]);
    assert.ok(told.length > 1_000 && told.length < 100_000, String(told.length));
  });

  it('that is always invalid is not requested forever', async (t) => {
    const bench = await startRawBench(t, [calling([{ name: 'no_such_tool', arguments: '{}' }])]);
    assert.equal(await bench.prompt('go'), 'max_turn_requests');
    assert.ok(!existsSync(join(bench.cwd, 'log')));
  });
});
