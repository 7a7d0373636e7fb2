import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  longSleep,
  newCell,
  noBubblewrap,
  openTestCell,
  sleeps,
  temporaryFolder,
} from '../../../test/support/cells.ts';
import { until } from '../../../test/support/until.ts';
import { openCell } from './openCell.ts';
import { openLaunchRecords } from './orphans.ts';
import { processSandbox } from './process.ts';
import { knownProcess, processSpace } from './processes.ts';
import type { SandboxKind } from './sandbox.ts';

const program = join(import.meta.dirname, '../../../test/support/orphaned.ts');

/** A worker that is killed while its agent runs. */
async function leaveOrphan(t: TestContext, kind: SandboxKind, folder: string) {
  const sleep = longSleep();
  const { workspace } = newCell(t);
  const worker = spawn(process.execPath, [program, kind, folder, workspace, sleep], { stdio: 'inherit' });
  await until('it runs', () => sleeps(sleep) === 1);
  worker.kill('SIGKILL');
  await once(worker, 'exit');
  return sleep;
}

async function startSleep(t: TestContext) {
  const sleep = longSleep();
  const child = spawn('sleep', [sleep], { detached: true, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  await until('it runs', () => sleeps(sleep) === 1);
  return { sleep, pid: child.pid ?? 0 };
}

const deadWorker = { pid: 2 ** 22, startedAt: '1' };

describe('what a killed worker left', () => {
  it('is ended by the next start, with its control groups', async (t) => {
    const folder = join(temporaryFolder(t), 'launches');
    const sleep = await leaveOrphan(t, 'process', folder);
    assert.equal(sleeps(sleep), 1);
    const [name = ''] = readdirSync(folder);
    const { folders } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { folders: string[] };
    assert.equal(await openLaunchRecords(folder).endOrphans(), 1);
    await until('it is gone', () => sleeps(sleep) === 0);
    assert.deepEqual(readdirSync(folder), []);
    for (const path of folders) assert.ok(!existsSync(path), path);
  });

  it('is ended at once in bubblewrap', { skip: noBubblewrap }, async (t) => {
    const folder = join(temporaryFolder(t), 'launches');
    const sleep = await leaveOrphan(t, 'bubblewrap', folder);
    await until('it is gone', () => sleeps(sleep) === 0);
    assert.equal(await openLaunchRecords(folder).endOrphans(), 1);
  });

  it('is left alone while its worker lives, and forgotten when it ends', async (t) => {
    const folder = join(temporaryFolder(t), 'launches');
    const records = openLaunchRecords(folder);
    const { open } = await openTestCell(t, processSandbox, { records });
    const sleep = longSleep();
    const entered = await open.enter({ argv: ['sleep', sleep], env: { SECRET: 'canary' } });
    await until('it runs', () => sleeps(sleep) === 1);
    const [name = ''] = readdirSync(folder);
    assert.doesNotMatch(readFileSync(join(folder, name), 'utf8'), /canary/);
    assert.equal(await openLaunchRecords(folder).endOrphans(), 0);
    assert.equal(sleeps(sleep), 1);
    await entered.kill();
    assert.deepEqual(readdirSync(folder), []);
  });

  it('cannot come of a launch that could not be noted: it is not made', async (t) => {
    const folder = join(temporaryFolder(t), 'launches');
    const records = openLaunchRecords(folder);
    rmSync(folder, { recursive: true });
    const { open } = await openTestCell(t, processSandbox, { records });
    const sleep = longSleep();
    await assert.rejects(open.enter({ argv: ['sleep', sleep], env: {} }), /ENOENT/);
    await until('it is gone', () => sleeps(sleep) === 0);
  });

  it('is ended with what is left of its group where its first process is gone', async (t) => {
    const folder = temporaryFolder(t);
    const sleep = longSleep();
    const child = spawn('sh', ['-c', `sleep ${sleep} & sleep 0.2`], { detached: true, stdio: 'ignore' });
    const leader = knownProcess(child.pid ?? 0);
    await once(child, 'exit');
    assert.equal(sleeps(sleep), 1);
    const record = { space: processSpace(), worker: deadWorker, leader, folders: [], end: null, alone: null };
    writeFileSync(join(folder, 'a.json'), JSON.stringify(record));
    assert.equal(await openLaunchRecords(folder).endOrphans(), 1);
    await until('it is gone', () => sleeps(sleep) === 0);
  });

  it('is ended by who gets its workspace for himself, even while its worker lives', async (t) => {
    const records = openLaunchRecords(join(temporaryFolder(t), 'launches'));
    const [before, shared] = [longSleep(), longSleep()];
    const first = await openTestCell(t, processSandbox, { records, alone: true });
    await first.open.enter({ argv: ['sleep', before], env: {} });
    const { cell } = first;
    const looking = await openCell({ sandbox: processSandbox, cell, records });
    await looking.enter({ argv: ['sleep', shared], env: {} });
    await until('both run', () => sleeps(before) + sleeps(shared) === 2);
    await openCell({ sandbox: processSandbox, cell, records, alone: true });
    assert.deepEqual([sleeps(before), sleeps(shared)], [0, 1]);
    await looking.close();
  });

  it('is not a process that got its number later', async (t) => {
    const folder = temporaryFolder(t);
    const { sleep, pid } = await startSleep(t);
    const leader = { ...knownProcess(pid), startedAt: '1' };
    const record = { space: processSpace(), worker: deadWorker, leader, folders: [], end: null };
    writeFileSync(join(folder, 'a.json'), JSON.stringify(record));
    await openLaunchRecords(folder).endOrphans();
    assert.equal(sleeps(sleep), 1);
    assert.deepEqual(readdirSync(folder), []);
  });

  it('is nothing that another space of numbers tells of; what was before this start of the machine is forgotten', async (t) => {
    const folder = temporaryFolder(t);
    const { sleep, pid } = await startSleep(t);
    const [boot = ''] = processSpace().split(' ');
    const record = { worker: deadWorker, leader: knownProcess(pid), folders: [], end: null };
    writeFileSync(join(folder, 'here.json'), JSON.stringify({ ...record, space: `${boot} pid:[1]` }));
    writeFileSync(join(folder, 'before.json'), JSON.stringify({ ...record, space: 'other pid:[1]' }));
    writeFileSync(join(folder, 'half.json'), '{"space":');
    assert.equal(await openLaunchRecords(folder).endOrphans(), 0);
    assert.equal(sleeps(sleep), 1);
    assert.deepEqual(readdirSync(folder), ['here.json']);
  });

  it('is ended by the command that its sandbox named', async (t) => {
    const folder = temporaryFolder(t);
    const ended = join(folder, 'ended');
    const records = join(folder, 'launches');
    const add = openLaunchRecords(records);
    const { pid } = await startSleep(t);
    add.add({
      pid,
      folders: [],
      end: { command: 'touch', args: [ended], env: { SECRET: 'canary' } },
      alone: null,
    });
    const [name = ''] = readdirSync(records);
    const text = readFileSync(join(records, name), 'utf8');
    assert.doesNotMatch(text, /canary/);
    writeFileSync(join(records, name), JSON.stringify({ ...JSON.parse(text), worker: deadWorker }));
    assert.equal(await add.endOrphans(), 1);
    assert.ok(existsSync(ended));
  });
});
