// What lets the caches of providers work: each request repeats the previous one byte for byte and adds to it.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { startAgentBench } from '../../../test/support/agentBench.ts';
import { type Protocol, protocolBases, protocols } from '../../models/protocols.ts';
import { createScriptedModel } from '../trial/scriptedModel/server.ts';

/** The field with the history. The rest must be the same in all requests. */
const histories: Readonly<Record<Protocol, string>> = {
  'openai-chat': 'messages',
  'openai-responses': 'input',
  anthropic: 'messages',
  gemini: 'contents',
};

const script = [
  { run: 'echo one' },
  { write: { path: 'a.txt', text: 'a' } },
  { say: 'First.' },
  { call: { tool: 'read_file', input: { path: 'a.txt' } } },
  { say: 'Second.' },
];

/** Marks of caches are no part of what is cached. */
function withoutMarks(text: string): string {
  return JSON.stringify(JSON.parse(text, (name, value) => (name === 'cache_control' ? undefined : value)));
}

/** Runs two turns, and returns the bodies of their requests. */
async function requestsOf(t: TestContext, protocol: Protocol) {
  const bodies: string[] = [];
  const model = createScriptedModel(script, { protocol });
  const bench = await startAgentBench(t, {
    current: { protocol, base: protocolBases[protocol] },
    model: {
      ...model,
      handle: (request, response, path) => {
        const pieces: Buffer[] = [];
        request.on('data', (piece: Buffer) => pieces.push(piece));
        request.on('end', () => bodies.push(Buffer.concat(pieces).toString()));
        model.handle(request, response, path);
      },
    },
  });
  await bench.open();
  await bench.prompt('first');
  await bench.prompt('second');
  return { bodies, sessionId: bench.sessionId() };
}

describe('prompt caching', () => {
  for (const protocol of protocols)
    it(`finds the previous request at the start of each in ${protocol}`, async (t) => {
      const { bodies } = await requestsOf(t, protocol);
      assert.equal(bodies.length, script.length);
      const split = bodies.map((body) => {
        const { [histories[protocol]]: history, ...rest } = JSON.parse(withoutMarks(body));
        // Serialized as in the body, but without the end of the list.
        return { rest: JSON.stringify(rest), history: JSON.stringify(history).slice(0, -1) };
      });
      for (const [i, { rest, history }] of split.entries()) {
        assert.ok(withoutMarks(bodies[i] ?? '').includes(history));
        assert.equal(rest, split[0]?.rest);
        if (i > 0) assert.ok(history.startsWith(`${split[i - 1]?.history},`), `request ${i + 1}`);
      }
    });

  it('has a key for each session with OpenAI alone', async (t) => {
    const { bodies, sessionId } = await requestsOf(t, 'openai-responses');
    for (const body of bodies) assert.equal(JSON.parse(body).prompt_cache_key, sessionId);
    const others = await requestsOf(t, 'openai-chat');
    assert.doesNotMatch(others.bodies.join(), /prompt_cache_key|cache_control/);
  });

  it('marks the instructions, the last message of the previous request and the last one with Anthropic', async (t) => {
    const { bodies } = await requestsOf(t, 'anthropic');
    const marksOf = (value: unknown) => JSON.stringify(value).split('"cache_control"').length - 1;
    const { system, messages } = JSON.parse(bodies[3] ?? '');
    assert.equal(marksOf(system), 1);
    assert.deepEqual(messages.map(marksOf), [0, 0, 0, 0, 1, 0, 1]);
  });
});
