// A history must not contain anything for which a provider would refuse every later request.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { ModelMessage } from 'ai';
import { startAgentBench, startRawBench } from '../../../test/support/agentBench.ts';
import { calling, lines, type RawBody, refusing, run, saying } from '../../../test/support/rawModel.ts';
import { until } from '../../../test/support/until.ts';
import { fitFor } from './history.ts';
import type { Model } from './model.ts';

const roles = ({ messages }: RawBody): string[] => messages.map(({ role }: RawBody) => role);
const image = { type: 'image' as const, data: 'AAAA', mimeType: 'image/png' };

describe('a history', () => {
  it('loses its images if the provider refuses them, and the conversation continues', async (t) => {
    const refusal = refusing(400, 'Could not process image');
    const bench = await startRawBench(t, [refusal, saying('I cannot see it.'), saying('Still here.')]);
    assert.equal(await bench.prompt([{ type: 'text', text: 'look' }, image]), 'end_turn');
    assert.doesNotMatch(JSON.stringify(bench.bodies[1]), /AAAA/);
    assert.match(JSON.stringify(bench.bodies[1]), /could not be shown/);
    assert.equal(await bench.prompt('and now?'), 'end_turn');
    assert.equal(bench.said(), 'I cannot see it.Still here.');
  });

  it('has call ids that every provider accepts, each with its result', async (t) => {
    const bench = await startRawBench(t, [calling([run('true'), run('true')]), saying('Done.')]);
    await bench.prompt('go');
    const [, , said, ...told] = bench.bodies[1].messages;
    const ids = said.tool_calls.map(({ id }: RawBody) => id);
    for (const id of ids) assert.match(id, /^[A-Za-z0-9]{9}$/);
    assert.deepEqual(
      told.map((one: RawBody) => one.tool_call_id),
      ids,
    );
    assert.equal(new Set(ids).size, 2);
  });

  it('contains the text of a stopped response that the user has read', async (t) => {
    const bench = await startRawBench(t, [
      (response) => {
        const delta = { role: 'assistant', content: 'I will now ' };
        const chunk = JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] });
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${chunk}\n\n`);
      },
      saying('As you like.'),
    ]);
    const turn = bench.prompt('go');
    await until('it speaks', async () => bench.said() !== '');
    await bench.cancel();
    assert.equal(await turn, 'cancelled');
    await bench.prompt('why?');
    assert.deepEqual(roles(bench.bodies[1]), ['system', 'user', 'assistant', 'user']);
    assert.match(bench.bodies[1].messages[2].content, /^I will now \n\[The user stopped you here\.\]$/);
  });

  it('has no reasoning of another provider, nor a message that contained nothing else', () => {
    const reasoning = (key: string) =>
      ({ type: 'reasoning', text: 'hm', providerOptions: { [key]: { signature: 's' } } }) as const;
    const messages: ModelMessage[] = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [reasoning('anthropic'), { type: 'text', text: 'a' }] },
      { role: 'assistant', content: [reasoning('openai')] },
    ];
    const kept = (reasoningKey: string | undefined) =>
      fitFor(messages, { reasoningKey } as Model).map(({ content }) => content.length);
    assert.deepEqual(kept('anthropic'), [2, 2]);
    assert.deepEqual(kept('openai'), [2, 1, 1]);
    assert.deepEqual(kept(undefined), [2, 1]);
  });
});

describe('a request', () => {
  it('is sent again if the provider fails in the middle of its response', async (t) => {
    const trouble = lines(
      `data: ${JSON.stringify({ error: { message: 'Overloaded', type: 'overloaded_error' } })}`,
    );
    const bench = await startRawBench(t, [trouble, saying('Here.')]);
    assert.equal(await bench.prompt('go'), 'end_turn');
    assert.equal(bench.said(), 'Here.');
  });

  it('leaves room for the history if it must limit the output', async (t) => {
    const asked: number[] = [];
    const model = {
      exchanges: [],
      handle: async (request: AsyncIterable<Buffer>, response: { end(text: string): void }) => {
        const pieces: Buffer[] = [];
        for await (const piece of request) pieces.push(piece);
        const body = JSON.parse(Buffer.concat(pieces).toString());
        if (body.stream) asked.push(body.max_tokens);
        response.end('');
      },
    };
    for (const [context, max_output] of [
      [200_000, 64_000],
      [20_000, 20_000],
      [200_000, 8_192],
    ] as const) {
      const current = { protocol: 'anthropic', base: '/anthropic', context, max_output } as const;
      const bench = await startAgentBench(t, { model: model as never, current });
      await bench.open();
      await bench.prompt('x'.repeat(20_000)).catch(() => {});
    }
    const [large = 0, small = 0, least = 0] = [...new Set(asked)];
    assert.equal(large, 32_000);
    assert.ok(small > 4_096 && small < 14_500, String(small));
    assert.equal(least, 8_192);
  });
});

describe('a file that only looks like an image', () => {
  it('is shown once, and then no more', async (t) => {
    const call = { name: 'read_file', arguments: '{"path":"a.png"}' };
    const bench = await startRawBench(t, [
      calling([call]),
      refusing(400, 'bad image'),
      saying('It is broken.'),
    ]);
    writeFileSync(join(bench.cwd, 'a.png'), Buffer.from('\x89PNG\r\n\x1a\n nothing', 'latin1'));
    assert.equal(await bench.prompt('look'), 'end_turn');
    assert.equal(bench.said(), 'It is broken.');
    assert.deepEqual(roles(bench.bodies[2]), ['system', 'user', 'assistant', 'tool', 'user']);
  });
});
