// What of the settings and the request reaches the model of the built-in agent.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { modelName, startBuiltin, startBuiltinWith } from '../../test/support/builtinRuns.ts';
import { createRawModel, type RawBody, saying } from '../../test/support/rawModel.ts';
import { temporaryFolder } from '../../test/support/sandboxes.ts';
import { until } from '../../test/support/until.ts';

const systemOf = ({ messages }: RawBody): string => messages[0].content;

describe('the model of the built-in agent', () => {
  it('gets the language and the custom instructions as instructions', async (t) => {
    const model = createRawModel([saying('Gut.')]);
    const runs = await startBuiltinWith(t, model, { settings: { language: 'de' } });
    const id = await runs.create('Los!', { conversation_instructions: 'Never touch the north wing.' });
    assert.deepEqual(await runs.turns(id, 1), ['Gut.']);
    const [body] = model.bodies;
    assert.match(systemOf(body), /Speak German with the user/);
    assert.match(systemOf(body), /<instructions>\nNever touch the north wing\.\n<\/instructions>/);
    assert.deepEqual(
      body.messages.slice(1).map(({ role }: RawBody) => role),
      ['user'],
    );
  });

  it('gets the current language when it continues', async (t) => {
    const model = createRawModel([saying('Ok.')]);
    const runs = await startBuiltinWith(t, model);
    const id = await runs.create('go');
    await runs.turns(id, 1);
    assert.doesNotMatch(systemOf(model.bodies[0]), /Speak /);
    await runs.stop(id);
    await runs.reaches(id, 'STOPPED');
    await runs.service.ask('/api/settings', { json: { language: 'fr' } });
    await runs.say(id, 'again');
    await runs.reaches(id, 'RUNNING');
    await runs.turns(id, 2);
    assert.match(systemOf(model.bodies[1]), /Speak French/);
  });

  it('gets the images of a message', async (t) => {
    const model = createRawModel([saying('A dot.')]);
    const runs = await startBuiltinWith(t, model);
    const url =
      'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const id = await runs.create('What is it?', { image_urls: [url] });
    assert.deepEqual(await runs.turns(id, 1), ['A dot.']);
    const [, said] = model.bodies[0].messages;
    assert.deepEqual(said.content, [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url } },
    ]);
  });

  it('gets replayed steps, and continues after them', async (t) => {
    const model = createRawModel([saying('On it goes.')]);
    const runs = await startBuiltinWith(t, model);
    const replay = [
      { source: 'user', action: 'message', args: { content: 'Build the boat.' } },
      { source: 'agent', action: 'run', args: { command: 'saw wood' } },
      { source: 'agent', observation: 'run', content: 'sawn', extras: { command: 'saw wood' } },
    ];
    const replay_json = JSON.stringify(replay);
    const id = await runs.create('Now the mast.', { replay_json });
    assert.deepEqual((await runs.turns(id, 1)).at(-1), 'On it goes.');
    const words = JSON.stringify(model.bodies[0].messages.slice(1));
    assert.match(words, /User: Build the boat\.\\n\\nYou ran: saw wood\\nIt gave: sawn/);
    assert.match(words, /Go on from there, and do not do again what was done/);
    assert.match(words, /Now the mast\./);
    assert.equal(words.split('Now the mast.').length, 2);
  });

  it('gets no request after a replay without a message, until there is one', async (t) => {
    const model = createRawModel([saying('Here.')]);
    const runs = await startBuiltinWith(t, model);
    const replay = [{ source: 'user', action: 'message', args: { content: 'Build the boat.' } }];
    const id = await runs.create(undefined, { replay_json: JSON.stringify(replay) });
    await runs.reaches(id, 'RUNNING');
    const last = (await runs.events(id)).at(-1);
    assert.equal(last?.extras?.['agent_state'], 'awaiting_user_input');
    assert.equal(model.bodies.length, 0);
    await runs.say(id, 'And now?');
    assert.equal((await runs.turns(id, 1)).at(-1), 'Here.');
    assert.match(JSON.stringify(model.bodies[0].messages), /Build the boat\..*And now\?/);
  });

  for (const condenses of [true, false])
    it(`is ${condenses ? '' : 'not '}asked for notes of what became long, as the settings say`, async (t) => {
      const file = join(temporaryFolder(t), 'prices.json');
      const small = { input: 1, output: 1, context: 100 };
      writeFileSync(file, JSON.stringify({ models: { [modelName]: small } }));
      const script = [{ run: 'echo one' }, { run: 'echo two' }, { say: 'Done.' }];
      const runs = await startBuiltin(t, script, {
        env: { PARLEY_PRICES_FILE: file },
        settings: { enable_default_condenser: condenses, max_iterations: 6 },
      });
      const id = await runs.create('go');
      await until('the turn has ended', async () => {
        const { status } = await runs.info(id);
        const last = (await runs.events(id)).at(-1);
        return status === 'STOPPED' || last?.extras?.['agent_state'] === 'awaiting_user_input';
      });
      const notes = runs.model.exchanges.filter(({ request }) => /Take notes of the/.test(request.prompt));
      assert.equal(notes.length > 0, condenses);
    });
});
