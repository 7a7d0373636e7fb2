import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startAgentBench } from '../../../test/support/agentBench.ts';
import { until } from '../../../test/support/until.ts';
import { protocolBases, protocols } from '../../models/protocols.ts';

const script = [
  { write: { path: 'a.txt', text: 'hello\n' } },
  { run: 'cat a.txt; exit 3' },
  { say: 'All is done.' },
] as const;

describe('the built-in agent', () => {
  for (const protocol of protocols)
    it(`works in ${protocol}: writes, runs, says`, async (t) => {
      const current = { protocol, base: protocolBases[protocol] };
      const bench = await startAgentBench(t, { script, current });
      await bench.open();
      assert.equal(await bench.prompt('go'), 'end_turn');
      assert.equal(readFileSync(join(bench.cwd, 'a.txt'), 'utf8'), 'hello\n');
      assert.equal(bench.said(), 'All is done.');
      const [written, ran] = bench.ended();
      assert.equal(written?.status, 'completed');
      assert.equal(written?.content?.[0]?.type, 'diff');
      assert.deepEqual(ran?.rawOutput, { exit_code: 3 });
      assert.match(bench.model.exchanges[2]?.request.results[1] ?? '', /hello/);
      assert.deepEqual(
        bench.asked.map(({ toolCall }) => toolCall.kind),
        ['edit', 'execute'],
      );
    });

  it('continues with the whole history when the model changes to another API', async (t) => {
    const turns = protocols.flatMap((protocol) => [{ run: `echo ${protocol}` }, { say: `In ${protocol}.` }]);
    const bench = await startAgentBench(t, { script: turns });
    await bench.open();
    for (const protocol of protocols) {
      bench.setCurrent({ protocol, base: protocolBases[protocol] });
      assert.equal(await bench.prompt('go'), 'end_turn');
      assert.ok(bench.said().endsWith(`In ${protocol}.`));
    }
    assert.equal(bench.model.exchanges.at(-1)?.request.results.length, protocols.length);
  });

  it('says what to set if there is no model, and continues once there is one', async (t) => {
    const fault = 'No model is set. Set llm_model in your settings.';
    const bench = await startAgentBench(t, { script: [{ say: 'Here I am.' }], current: { fault } });
    await bench.open();
    await assert.rejects(bench.prompt('go'), /No model is set\. Set llm_model in your settings\./);
    assert.equal(bench.model.exchanges.length, 0);
    bench.setCurrent({ fault: null });
    assert.equal(await bench.prompt('and now?'), 'end_turn');
    assert.match(bench.said(), /Here I am\.$/);
  });

  it('does nothing that the user rejects, and tells the model', async (t) => {
    const bench = await startAgentBench(t, { script, answer: () => 'rejected' });
    await bench.open();
    await bench.prompt('go');
    assert.ok(!existsSync(join(bench.cwd, 'a.txt')));
    assert.deepEqual(
      bench.ended().map(({ status }) => status),
      ['failed', 'failed'],
    );
    assert.match(bench.model.exchanges[1]?.request.results[0] ?? '', /rejected/);
  });

  it('does not ask again for a command that is always allowed, and asks for any other', async (t) => {
    const commands = [{ run: 'true' }, { run: 'true' }, { run: 'true; true' }, { say: 'ok' }];
    const bench = await startAgentBench(t, { script: commands, answer: () => 'always' });
    await bench.open();
    await bench.prompt('go');
    assert.equal(bench.asked.length, 2);
    assert.equal(bench.ended().length, 3);
  });

  it('ends its turn and the running command when it is cancelled', async (t) => {
    const bench = await startAgentBench(t, { script: [{ run: 'touch begun; sleep 60' }, { say: 'no' }] });
    await bench.open();
    const turn = bench.prompt('go');
    await until('the command runs', async () => existsSync(join(bench.cwd, 'begun')));
    await bench.cancel();
    assert.equal(await turn, 'cancelled');
    assert.equal(bench.model.exchanges.length, 1);
  });

  it('ends its turn when it is cancelled before the first model request', async (t) => {
    const bench = await startAgentBench(t, { script: [{ run: 'touch begun' }, { say: 'no' }] });
    await bench.open();
    const turn = bench.prompt('go');
    await bench.cancel();
    assert.equal(await turn, 'cancelled');
    assert.ok(!existsSync(join(bench.cwd, 'begun')));
  });

  it('remembers what was said in earlier turns', async (t) => {
    const bench = await startAgentBench(t, { script: [{ say: 'One.' }, { say: 'Two.' }] });
    await bench.open();
    await bench.prompt('first');
    await bench.prompt('second');
    assert.equal(bench.said(), 'One.Two.');
    assert.match(bench.model.exchanges[1]?.request.prompt ?? '', /first\nsecond/);
  });

  it('sees images', async (t) => {
    const bench = await startAgentBench(t, { script: [{ say: 'A cat.' }] });
    await bench.open();
    const data = Buffer.from('not really').toString('base64');
    const image = { type: 'image' as const, data, mimeType: 'image/png' };
    await bench.prompt([{ type: 'text', text: 'what is this?' }, image]);
    assert.equal(bench.said(), 'A cat.');
    assert.match(bench.model.exchanges[0]?.request.prompt ?? '', /what is this\?\[image\]/);
  });

  it('tells a model without vision that there is an image', async (t) => {
    const bench = await startAgentBench(t, { script: [{ say: 'Nothing.' }], current: { images: false } });
    await bench.open();
    await bench.prompt([{ type: 'image', data: 'AAAA', mimeType: 'image/png' }]);
    assert.match(bench.model.exchanges[0]?.request.prompt ?? '', /an image, which you cannot see/);
  });

  for (const [protocol, seen] of [
    ['openai-chat', true],
    ['gemini', true],
    ['anthropic', false],
  ] as const)
    it(`looks at an image file in ${protocol}${seen ? '' : ', or says that the model cannot see it'}`, async (t) => {
      const script = [{ call: { tool: 'read_file', input: { path: 'a.png' } } }, { say: 'ok' }];
      const current = { protocol, base: protocolBases[protocol], images: seen };
      const bench = await startAgentBench(t, { script, current });
      const pixel =
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
      writeFileSync(join(bench.cwd, 'a.png'), Buffer.from(pixel, 'base64'));
      await bench.open();
      await bench.prompt('go');
      const { request } = bench.model.exchanges[1] ?? {};
      assert.match(
        request?.prompt ?? '',
        seen ? /that your tools gave:\[image\]/ : /images, which you cannot see/,
      );
      assert.doesNotMatch(request?.results.join() ?? '', /iVBOR/);
    });

  it('gives a conversation a title if its first message is longer than a few words', async (t) => {
    const bench = await startAgentBench(t, { script: [{ say: 'Sure.' }, { say: 'Again.' }] });
    await bench.open();
    await bench.prompt('Please look at the parser and tell me why it is so slow with long lines.');
    await until('a title came', async () =>
      bench.updates.some((u) => u.sessionUpdate === 'session_info_update' && typeof u.title === 'string'),
    );
    await bench.prompt('And now the same for the writer, please, which is slower than I would like.');
    const titles = bench.updates.filter(({ sessionUpdate }) => sessionUpdate === 'session_info_update');
    assert.equal(titles.length, 1);
  });

  it('tells the model what AGENTS.md of the repository says', async (t) => {
    const bench = await startAgentBench(t, { script: [{ say: 'One.' }] });
    writeFileSync(join(bench.cwd, 'AGENTS.md'), 'Use tabs, always.');
    await bench.open();
    await bench.prompt('go');
    assert.match(bench.model.exchanges[0]?.request.prompt ?? '', /Use tabs, always\./);
  });
});
