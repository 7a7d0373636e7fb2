// The built-in agent and a provider that fails: what the log says of it, and that the conversation goes on.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  errorsOf,
  modelKey,
  noticesOf,
  startBuiltin,
  startBuiltinWith,
} from '../../test/support/builtinRuns.ts';
import {
  calling,
  createRawModel,
  cutOff,
  refusing,
  run,
  saying,
  stream,
} from '../../test/support/rawModel.ts';

const once = { run: 'echo once >>log' };

describe('a run whose provider', () => {
  it('fails twice, then answers, succeeds, and the log reports it', async (t) => {
    const script = [{ fail: { status: 500 }, times: 2 }, once, { say: 'Done.' }];
    const runs = await startBuiltin(t, script);
    const id = await runs.create('go');
    assert.deepEqual(await runs.turns(id, 1), ['Done.']);
    const events = await runs.events(id);
    assert.deepEqual(noticesOf(events), ['The model provider returned 500. Trying again in 1 s.']);
    assert.deepEqual(errorsOf(events), []);
    assert.equal(await runs.file(id, 'log'), 'once\n');
  });

  it('asks for a delay gets it', async (t) => {
    const script = [{ fail: { status: 429, retryAfterS: 0.02 } }, once, { say: 'Done.' }];
    const runs = await startBuiltin(t, script);
    const id = await runs.create('go');
    assert.deepEqual(await runs.turns(id, 1), ['Done.']);
    assert.match(noticesOf(await runs.events(id)).join(), /returned 429\. Trying again in 1 s/);
  });

  it('disconnects before it answers is retried', async (t) => {
    const runs = await startBuiltin(t, [{ drop: 'before', times: 3 }, once, { say: 'Done.' }]);
    const id = await runs.create('go');
    assert.deepEqual(await runs.turns(id, 1), ['Done.']);
    assert.match(noticesOf(await runs.events(id)).join(), /cannot be reached: .*Trying again/);
    assert.equal(await runs.file(id, 'log'), 'once\n');
  });

  it('never answers is given up with each message, and the next message is accepted', async (t) => {
    const runs = await startBuiltin(t, [{ fail: { status: 503 }, times: 10 }, { say: 'Here I am.' }]);
    const id = await runs.create('go');
    assert.deepEqual(await runs.turns(id, 1), []);
    await runs.say(id, 'again');
    assert.deepEqual(await runs.turns(id, 2), []);
    const sentence = 'MODEL: The model provider returned 503. It was tried 5 times.';
    assert.deepEqual(errorsOf(await runs.events(id)), [sentence, sentence]);
    await runs.say(id, 'and now?');
    assert.deepEqual(await runs.turns(id, 3), ['Here I am.']);
  });

  it('disconnects in the middle of a call is retried, and the call is done once', async (t) => {
    const half = {
      tool_calls: [{ index: 0, id: 'c', function: { name: 'bash', arguments: '{"command":' } }],
    };
    const answers = [cutOff([half]), calling([run('echo once >>log')]), saying('Done.')];
    const runs = await startBuiltinWith(t, createRawModel(answers));
    const id = await runs.create('go');
    assert.deepEqual(await runs.turns(id, 1), ['Done.']);
    assert.equal(await runs.file(id, 'log'), 'once\n');
    const events = await runs.events(id);
    assert.deepEqual(errorsOf(events), ['MODEL: The model provider interrupted its response.']);
    assert.equal(events.filter(({ action }) => action === 'run').length, 1);
  });

  it('rejects a request is quoted, without the key, and the next message is accepted', async (t) => {
    const words = `the key ${modelKey} may not use this`;
    const answers = [refusing(400, words), refusing(400, words), saying('Better.')];
    const runs = await startBuiltinWith(t, createRawModel(answers));
    const id = await runs.create('go');
    await runs.turns(id, 1);
    await runs.say(id, 'again');
    await runs.turns(id, 2);
    const events = await runs.events(id);
    const [told, quoted, ...second] = errorsOf(events);
    assert.equal(told, 'MODEL: The model provider rejected a request (400).');
    assert.match(quoted ?? '', /^AGENT_ERROR: .*refused the request \(400\): the key … may not use this$/);
    assert.deepEqual(second, [told, quoted]);
    assert.ok(!JSON.stringify(events).includes(modelKey));
    await runs.say(id, 'once more');
    assert.deepEqual(await runs.turns(id, 3), ['Better.']);
  });

  it('answers with two megabytes has them all in the log, and what was cut off is told', async (t) => {
    const pieces = Array.from({ length: 200 }, (_, i) => ({ content: `${i} ${'x'.repeat(10_000)}\n` }));
    const runs = await startBuiltinWith(t, createRawModel([stream(pieces, 'length')]));
    const id = await runs.create('go');
    const said = (await runs.turns(id, 1)).join('');
    assert.equal(said, pieces.map(({ content }) => content).join(''));
    assert.match(errorsOf(await runs.events(id)).join(), /^MAX_TOKENS: /);
  });

  it('rejects the API key is reported as that, with each message', async (t) => {
    const answers = [refusing(401, `bad key ${modelKey}`)];
    const runs = await startBuiltinWith(t, createRawModel(answers));
    const id = await runs.create('go');
    await runs.turns(id, 1);
    await runs.say(id, 'again');
    await runs.turns(id, 2);
    const events = await runs.events(id);
    const sentence = 'MODEL: The model provider rejected your API key (401): bad key …';
    assert.deepEqual(errorsOf(events), [sentence, sentence]);
    assert.ok(!JSON.stringify(events).includes(modelKey));
  });
});
