// acpx, a client from npm that speaks ACP on standard streams, through whole sessions with `parley acp`.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createEditorSite } from '../support/acpProcess.ts';
import { installFolder } from '../support/npm.ts';
import { mainFile } from '../support/program.ts';
import { until } from '../support/until.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const program = `${folder}node_modules/acpx/dist/cli.js`;
// Some packages for other platforms cannot be locked everywhere.
const skip = await installFolder(folder, 'install');

/** acpx keeps the agent running between calls for this time. */
const keepSeconds = '60';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function start(t: TestContext, settings: Record<string, unknown> = {}) {
  const site = createEditorSite(t);
  const env = site.environment();
  const agent = `${process.execPath} ${mainFile} acp`;
  const acpx = (...args: readonly string[]) =>
    new Promise<Ended>((resolve) => {
      const all = [program, '--agent', agent, '--cwd', env['HOME'] ?? '', '--ttl', keepSeconds, ...args];
      execFile(process.execPath, all, { env, timeout: 120_000 }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
      );
    });
  const run = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await acpx(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  // It starts the service.
  await run('sessions', 'list');
  const runs = await site.useFakeAgent(settings);
  /** Ends the process that acpx keeps. */
  t.after(async () => void (await acpx('sessions', 'close')));
  const [id = ''] = (await run('sessions', 'new')).split(/\s/);
  const say = (text: string) => run('--format', 'quiet', text);
  return { id, acpx, run, say, runs };
}

describe('acpx', { skip, timeout: 600_000 }, () => {
  it('has a session, in one process after another', async (t) => {
    const { id, run, say, acpx, runs } = await start(t);
    assert.match(await say('say First'), /^First\s*$/);
    assert.match(await run('really-run echo from the sandbox'), /echo from the sandbox[\s\S]*end_turn/);
    assert.match(await run('plan read;write;test'), /read[\s\S]*write[\s\S]*test/);
    const [listed = ''] = (await run('sessions', 'list')).split('\n');
    assert.match(listed, new RegExp(`^${id}\\s`));

    assert.match(await run('set', 'agent', 'other'), /agent=other/);
    const refused = await acpx('set', 'agent', 'nobody');
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /agent must be one of/);

    await run('set-mode', 'ask');
    assert.equal((await runs.info(id)).confirmation_mode, true);

    await run('sessions', 'close');
    assert.equal((await runs.info(id)).status, 'STOPPED');
    assert.match(await run('--format', 'quiet', 'exec', 'say Once'), /^Once\s*$/);
  });

  it('answers approval requests', async (t) => {
    const { id, run, runs } = await start(t, { confirmation_mode: true });
    assert.match(await run('--approve-all', 'ask-run echo one'), /completed echo one/);
    assert.match(await run('--deny-all', 'ask-run echo two'), /rejected[\s\S]*failed echo two/);
    const ran = (await runs.events(id)).filter(({ observation }) => observation === 'run');
    assert.equal(ran.length, 1);
  });

  it('cancels a turn, and sends the next prompt', async (t) => {
    const { id, run, say, runs } = await start(t);
    const turn = run('chunks begun|@never');
    await until('the turn has begun', async () => (await runs.info(id)).agent_state === 'running', 60_000);
    assert.match(await run('cancel'), /cancel requested/);
    assert.match(await turn, /cancelled/);
    assert.match(await say('say Next'), /Next\s*$/);
  });
});
