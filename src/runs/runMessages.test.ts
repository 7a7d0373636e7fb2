// What an agent is given of the messages of its user, and what its session begins with.
import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createStorage } from '../../test/support/databases.ts';
import { listenOnLoopback } from '../../test/support/mcpServer.ts';
import { pixel, pixelUrl } from '../../test/support/pixel.ts';
import { type RunsOptions, startRuns } from '../../test/support/runs.ts';
import { shell, statesOf } from '../../test/support/runTalk.ts';
import { noBubblewrap, temporaryFolder } from '../../test/support/sandboxes.ts';
import { until } from '../../test/support/until.ts';

/** One picture, and a page that is none. */
function startPictures(t: TestContext) {
  return listenOnLoopback(t, ({ url }, response) => {
    if (url === '/a.png') response.setHeader('content-type', 'image/png').end(Buffer.from(pixel, 'base64'));
    else response.setHeader('content-type', 'text/html').end('<p>No picture.</p>');
  });
}

describe('the messages of a run', () => {
  it('arrive with their images, whether they are in the message or at a URL', async (t) => {
    const { url } = await startPictures(t);
    const { create, turns, service } = await startRuns({}, t);
    const large = `data:image/png;base64,${Buffer.alloc(3_000_000).toString('base64')}`;
    const id = await create('image-count', { image_urls: [pixelUrl, `${url}/a.png`, large] });
    assert.deepEqual(await turns(id, 1), ['3 images']);
    const json = { message: 'image-count', image_urls: [`${url}/page`, pixelUrl] };
    assert.equal((await service.ask(`/api/conversations/${id}/message`, { json })).status, 200);
    assert.deepEqual(await turns(id, 2), ['3 images', '1 images']);
  });

  it('mention images that the agent cannot see', async (t) => {
    const { create, turns } = await startRuns({ flags: ['--no-images'] }, t);
    const id = await create('look', { image_urls: [pixelUrl, 'https://a.example/b.png'] });
    assert.deepEqual(await turns(id, 1), [
      'You said: look\n[The user sent an image. You cannot see images here.]\n[The user sent an image, https://a.example/b.png. You cannot see images here.]',
    ]);
  });

  it('are all answered if they arrive quickly', async (t) => {
    const { create, events, say } = await startRuns({}, t);
    const id = await create('say 0');
    const count = 8;
    for (let i = 1; i < count; i++) await say(id, `say ${i}`);
    const said = await until('all are answered', async () => {
      const of = (await events(id)).filter(
        ({ source, action }) => source === 'agent' && action === 'message',
      );
      const text = of.map(({ message }) => message).join('');
      return text.length >= count && text;
    });
    assert.equal(said, '01234567');
  });

  it('do not contain replayed events, which are history', async (t) => {
    const { create, turns } = await startRuns({}, t);
    const replay_json = JSON.stringify([
      { source: 'user', action: 'message', args: { content: 'say replayed' } },
      { source: 'agent', action: 'message', args: { content: 'replayed' } },
    ]);
    const id = await create('go on', { replay_json });
    assert.deepEqual((await turns(id, 1)).slice(1), [
      `You said: ${begun('User: say replayed\n\nYou: replayed')}\ngo on`,
    ]);
  });

  it('contain replayed actions, which must not be repeated', async (t) => {
    const { create, turns } = await startRuns({}, t);
    const id = await create('go on', { replay_json: JSON.stringify(replayedSteps) });
    const history = 'User: Mend it.\n\nYou ran: npm test\nIt gave (exit code 1): 1 failed\nYou edited: a.ts';
    assert.deepEqual(await turns(id, 1), [`You said: ${begun(history)}\n\n${afterSteps}\ngo on`]);
  });

  it('wait for the user if everything was replayed, and then include it', async (t) => {
    const runs = await startRuns({}, t);
    const id = await runs.create(undefined, { replay_json: JSON.stringify(replayedSteps) });
    await runs.reaches(id, 'RUNNING');
    const waits = await until('it waits', async () => {
      const states = statesOf(await runs.events(id));
      return states.at(-1) === 'awaiting_user_input' && states;
    });
    assert.deepEqual(waits, ['loading', 'awaiting_user_input']);
    await runs.say(id, 'now go on');
    const [said = ''] = await runs.turns(id, 1);
    assert.match(said, /User: Mend it\..*You edited: a\.ts\n<\/history>.*now go on$/s);
  });
});

const replayedSteps = [
  { source: 'user', action: 'message', args: { content: 'Mend it.' } },
  { source: 'agent', action: 'run', args: { command: 'npm test' } },
  {
    source: 'agent',
    observation: 'run',
    content: '1 failed',
    extras: { metadata: { exit_code: 1 } },
  },
  { source: 'agent', action: 'edit', args: { path: 'a.ts' } },
];
const afterSteps =
  'Go on from there, and do not do again what was done. Look at how the files are before you rely on them.';
const begun = (history: string) =>
  `This is how the conversation went so far:\n\n<history>\n${history}\n</history>`;
const brief =
  '<instructions>\nBe brief.\n</instructions>\n\nSpeak German with the user, unless they ask otherwise.';
const instructed = { conversation_instructions: 'Be brief.' };

async function stopAndSay(
  { service, reaches, say }: Awaited<ReturnType<typeof startRuns>>,
  id: string,
  text: string,
) {
  await service.ask(`/api/conversations/${id}/stop`, { method: 'POST' });
  await reaches(id, 'STOPPED');
  await say(id, text);
}

describe('the session of an agent', () => {
  it('begins with the instructions and the language, which are not repeated when it is resumed', async (t) => {
    const runs = await startRuns({ settings: { language: 'de' } }, t);
    const id = await runs.create('one', instructed);
    assert.deepEqual(await runs.turns(id, 1), [`You said: ${brief}\none`]);
    await runs.say(id, 'two');
    assert.equal((await runs.turns(id, 2)).at(-1), 'You said: two');
    await stopAndSay(runs, id, 'three');
    assert.equal((await runs.turns(id, 3)).at(-1), 'You said: three');
  });

  it('begins with them and the history if the agent has lost it', async (t) => {
    const runs = await startRuns({ flags: ['--no-load'], settings: { language: 'de' } }, t);
    const id = await runs.create('say one', instructed);
    await runs.turns(id, 1);
    await stopAndSay(runs, id, 'what was it?');
    const last = (await runs.turns(id, 2)).at(-1);
    assert.equal(last, `You said: ${brief}\n${begun('User: say one\n\nYou: one')}\nwhat was it?`);
  });
});

/** A service whose agent reads its instructions from a file in its home. */
async function startReader(
  t: TestContext,
  sandbox: NonNullable<RunsOptions['sandbox']>,
  file = '.fake/AGENTS.md',
) {
  const storage = await createStorage('sqlite');
  t.after(() => storage.remove());
  const programs = [{ command: 'parley-fake-agent', args: [], env: {} }];
  const agents = [{ id: 'fake', name: 'Fake', protocol: 'openai-chat', programs, instructions: file }];
  writeFileSync(join(storage.dataDir, 'agents.json'), JSON.stringify({ agents }));
  const runs = await startRuns({ storage, sandbox, settings: { language: 'de' } }, t);
  const homeOf = () => {
    const [key = ''] = readdirSync(join(storage.dataDir, 'conversations'));
    return join(storage.dataDir, 'conversations', key, 'home');
  };
  return { ...runs, homeOf };
}

describe('the instructions of an agent that reads them from a file', () => {
  it('are in its home, and in no message', async (t) => {
    const { create, turns, homeOf } = await startReader(t, 'process');
    const id = await create('one', instructed);
    assert.deepEqual(await turns(id, 1), ['You said: one']);
    assert.equal(readFileSync(join(homeOf(), '.fake/AGENTS.md'), 'utf8'), `${brief}\n`);
  });
});

/** A file of the host that an agent would like to have written to. */
function makeVictim(t: TestContext): string {
  const folder = join(temporaryFolder(t), 'victim');
  mkdirSync(folder);
  writeFileSync(join(folder, 'AGENTS.md'), 'untouched');
  return folder;
}

for (const sandbox of ['process', 'bubblewrap'] as const)
  describe(`links in the way of instructions in ${sandbox}`, {
    skip: sandbox === 'bubblewrap' && noBubblewrap,
  }, () => {
    for (const [what, plant] of [
      ['file', (victim: string) => `ln -sf ${victim}/AGENTS.md ~/.fake/AGENTS.md`],
      ['folder', (victim: string) => `rm -r ~/.fake && ln -s ${victim} ~/.fake`],
    ] as const)
      it(`are not followed where the agent has made its ${what} one`, async (t) => {
        const runs = await startReader(t, sandbox);
        const victim = makeVictim(t);
        const id = await runs.create('say ready', instructed);
        await runs.turns(id, 1);
        await shell(runs, id, 2, plant(victim));
        await stopAndSay(runs, id, 'say again');
        await runs.turns(id, 3);
        assert.ok(!lstatSync(join(runs.homeOf(), '.fake')).isSymbolicLink());
        assert.ok(lstatSync(join(runs.homeOf(), '.fake/AGENTS.md')).isFile());
        assert.equal(await shell(runs, id, 4, 'cat ~/.fake/AGENTS.md'), `${brief}\n`);
        assert.deepEqual(readdirSync(victim), ['AGENTS.md']);
        assert.equal(readFileSync(join(victim, 'AGENTS.md'), 'utf8'), 'untouched');
      });
  });
