import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  longSleep,
  newSandboxSpec,
  noBubblewrap,
  openTestSandbox,
  sleeps,
  temporaryFolder,
} from '../../test/support/sandboxes.ts';
import { until } from '../../test/support/until.ts';
import { openSandbox } from './openSandbox.ts';
import { processEngine } from './processEngine.ts';
import { knownProcess, processSpace } from './processes.ts';
import { openProcessRecords } from './processRecords.ts';
import type { SandboxKind } from './sandbox.ts';

const program = join(import.meta.dirname, '../../test/support/orphaned.ts');

/** A worker that is killed while its agent runs. */
async function leaveOrphan(t: TestContext, kind: SandboxKind, folder: string) {
  const sleep = longSleep();
  const { workspace } = newSandboxSpec(t);
  const worker = spawn(process.execPath, [program, kind, folder, workspace, sleep], { stdio: 'inherit' });
  const isNoted = () => existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.json'));
  await until('it runs, and is noted', () => sleeps(sleep) === 1 && isNoted());
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

describe('processes of a killed worker', () => {
  it('are ended by the next start, with their cgroups', async (t) => {
    const folder = join(temporaryFolder(t), 'launches');
    const sleep = await leaveOrphan(t, 'process', folder);
    assert.equal(sleeps(sleep), 1);
    const [name = ''] = readdirSync(folder);
    const { folders } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { folders: string[] };
    assert.equal(await openProcessRecords(folder).endOrphans(), 1);
    await until('it is gone', () => sleeps(sleep) === 0);
    assert.deepEqual(readdirSync(folder), []);
    for (const path of folders) assert.ok(!existsSync(path), path);
  });

  it('are ended at once in bubblewrap', { skip: noBubblewrap }, async (t) => {
    const folder = join(temporaryFolder(t), 'launches');
    const sleep = await leaveOrphan(t, 'bubblewrap', folder);
    await until('it is gone', () => sleeps(sleep) === 0);
    assert.equal(await openProcessRecords(folder).endOrphans(), 1);
  });

  it('are left alone while their worker lives, and their record is removed when they end', async (t) => {
    const folder = join(temporaryFolder(t), 'launches');
    const records = openProcessRecords(folder);
    const { open } = await openTestSandbox(t, processEngine, { records });
    const sleep = longSleep();
    const running = await open.start({ argv: ['sleep', sleep], env: { SECRET: 'canary' } });
    await until('it runs', () => sleeps(sleep) === 1);
    const [name = ''] = readdirSync(folder);
    assert.doesNotMatch(readFileSync(join(folder, name), 'utf8'), /canary/);
    assert.equal(await openProcessRecords(folder).endOrphans(), 0);
    assert.equal(sleeps(sleep), 1);
    await running.kill();
    assert.deepEqual(readdirSync(folder), []);
  });

  it('cannot exist without a record: a process that cannot be recorded is not started', async (t) => {
    const folder = join(temporaryFolder(t), 'launches');
    const records = openProcessRecords(folder);
    rmSync(folder, { recursive: true });
    const { open } = await openTestSandbox(t, processEngine, { records });
    const sleep = longSleep();
    await assert.rejects(open.start({ argv: ['sleep', sleep], env: {} }), /ENOENT/);
    await until('it is gone', () => sleeps(sleep) === 0);
  });

  it('are ended with the rest of their group if the first process is gone', async (t) => {
    const folder = temporaryFolder(t);
    const sleep = longSleep();
    const child = spawn('sh', ['-c', `sleep ${sleep} & sleep 0.2`], { detached: true, stdio: 'ignore' });
    const leader = knownProcess(child.pid ?? 0);
    await once(child, 'exit');
    assert.equal(sleeps(sleep), 1);
    const record = { space: processSpace(), worker: deadWorker, leader, folders: [], end: null, alone: null };
    writeFileSync(join(folder, 'a.json'), JSON.stringify(record));
    assert.equal(await openProcessRecords(folder).endOrphans(), 1);
    await until('it is gone', () => sleeps(sleep) === 0);
  });

  it('are ended by the next exclusive user of the workspace, even while their worker lives', async (t) => {
    const records = openProcessRecords(join(temporaryFolder(t), 'launches'));
    const [before, shared] = [longSleep(), longSleep()];
    const first = await openTestSandbox(t, processEngine, { records, exclusive: true });
    await first.open.start({ argv: ['sleep', before], env: {} });
    const { spec } = first;
    const looking = await openSandbox({ engine: processEngine, spec, records });
    await looking.start({ argv: ['sleep', shared], env: {} });
    await until('both run', () => sleeps(before) + sleeps(shared) === 2);
    await openSandbox({ engine: processEngine, spec, records, exclusive: true });
    assert.deepEqual([sleeps(before), sleeps(shared)], [0, 1]);
    await looking.close();
  });

  it('are left alone by a run that has lost the workspace meanwhile, which starts nothing either', async (t) => {
    const records = openProcessRecords(join(temporaryFolder(t), 'launches'));
    const sleep = longSleep();
    const { spec, open } = await openTestSandbox(t, processEngine, { records, exclusive: true });
    await open.start({ argv: ['sleep', sleep], env: {} });
    await until('it runs', () => sleeps(sleep) === 1);
    const late = { engine: processEngine, spec, records, isHeld: () => false };
    await assert.rejects(openSandbox({ ...late, exclusive: true }), /belongs to another run/);
    const other = await openSandbox(late);
    await assert.rejects(other.start({ argv: ['true'], env: {} }), /closed/);
    assert.equal(sleeps(sleep), 1);
  });

  it('do not include a process that reuses the pid', async (t) => {
    const folder = temporaryFolder(t);
    const { sleep, pid } = await startSleep(t);
    const leader = { ...knownProcess(pid), startedAt: '1' };
    const record = { space: processSpace(), worker: deadWorker, leader, folders: [], end: null };
    writeFileSync(join(folder, 'a.json'), JSON.stringify(record));
    await openProcessRecords(folder).endOrphans();
    assert.equal(sleeps(sleep), 1);
    assert.deepEqual(readdirSync(folder), []);
  });

  it('do not include those of another pid namespace; records from before a reboot are removed', async (t) => {
    const folder = temporaryFolder(t);
    const { sleep, pid } = await startSleep(t);
    const [boot = ''] = processSpace().split(' ');
    const record = { worker: deadWorker, leader: knownProcess(pid), folders: [], end: null };
    writeFileSync(join(folder, 'here.json'), JSON.stringify({ ...record, space: `${boot} pid:[1]` }));
    writeFileSync(join(folder, 'before.json'), JSON.stringify({ ...record, space: 'other pid:[1]' }));
    writeFileSync(join(folder, 'half.json'), '{"space":');
    assert.equal(await openProcessRecords(folder).endOrphans(), 0);
    assert.equal(sleeps(sleep), 1);
    assert.deepEqual(readdirSync(folder), ['here.json']);
  });

  it('are forgotten, and their container is ended, once a record of another pid namespace is old', async (t) => {
    const folder = temporaryFolder(t);
    const ended = join(folder, 'ended');
    const { sleep, pid } = await startSleep(t);
    const [boot = ''] = processSpace().split(' ');
    const record = { space: `${boot} pid:[1]`, worker: deadWorker, leader: knownProcess(pid), folders: [] };
    const old = join(folder, 'old.json');
    writeFileSync(old, JSON.stringify({ ...record, end: { command: 'touch', args: [ended] }, alone: null }));
    const longAgo = new Date(Date.now() - 8 * 24 * 60 * 60_000);
    utimesSync(old, longAgo, longAgo);
    await openProcessRecords(folder).endOrphans();
    assert.deepEqual(readdirSync(folder), ['ended']);
    assert.equal(sleeps(sleep), 1);
  });

  it('do not include a record that another worker is writing; an unfinished one is removed', async (t) => {
    const folder = temporaryFolder(t);
    for (const name of ['a.new', 'b.new']) writeFileSync(join(folder, name), '{"space":');
    const longAgo = new Date(Date.now() - 2 * 60 * 60_000);
    utimesSync(join(folder, 'b.new'), longAgo, longAgo);
    assert.equal(await openProcessRecords(folder).endOrphans(), 0);
    assert.deepEqual(readdirSync(folder), ['a.new']);
  });

  it('are recorded atomically', async (t) => {
    const folder = temporaryFolder(t);
    const names: string[] = [];
    const watcher = watch(folder, (_, name) => names.push(name ?? ''));
    t.after(() => watcher.close());
    const { pid } = await startSleep(t);
    openProcessRecords(folder).add({ pid, folders: [], end: undefined, alone: null });
    await until('it is there', () => names.some((name) => name.endsWith('.json')));
    // Written under another name: the one that readers look for is only ever given to a whole one.
    assert.match(names[0] ?? '', /\.new$/);
  });

  it("are identified by the worker's pid alone if the system reports no more, and never killed by pid", async (t) => {
    const folder = temporaryFolder(t);
    const { sleep, pid } = await startSleep(t);
    const files = { live: process.pid, dead: deadWorker.pid };
    for (const [name, worker] of Object.entries(files))
      writeFileSync(
        join(folder, `${name}.json`),
        JSON.stringify({
          space: 'unknown',
          worker: { pid: worker, startedAt: null },
          leader: { pid, startedAt: null },
          folders: [],
          end: { command: 'touch', args: [join(folder, `${name}-ended`)] },
          alone: null,
        }),
      );
    assert.equal(await openProcessRecords(folder, { space: 'unknown' }).endOrphans(), 1);
    assert.deepEqual(readdirSync(folder).sort(), ['dead-ended', 'live.json']);
    assert.equal(sleeps(sleep), 1);
  });

  it('stay recorded, and are reported, if they cannot be ended', async (t) => {
    const folder = join(temporaryFolder(t), 'launches');
    const faults: string[] = [];
    const records = openProcessRecords(folder, { onFault: ({ message }) => faults.push(message) });
    const { pid } = await startSleep(t);
    const note = records.add({ pid, folders: [], end: undefined, alone: null });
    note.keep();
    assert.equal(readdirSync(folder).length, 1);
    assert.match(faults[0] ?? '', /could not be killed/);
  });

  it('end normally even if their record cannot be removed', async (t) => {
    const folder = join(temporaryFolder(t), 'launches');
    const faults: Error[] = [];
    const records = openProcessRecords(folder, { onFault: (error) => faults.push(error) });
    const { open } = await openTestSandbox(t, processEngine, { records });
    const running = await open.start({ argv: ['cat'], env: {} });
    const [name = ''] = readdirSync(folder);
    rmSync(join(folder, name));
    mkdirSync(join(folder, name));
    running.stdin.end();
    assert.deepEqual(await running.ended, { code: 0, signal: null });
    assert.equal(faults.length, 1);
  });

  it('are ended by the command of their sandbox', async (t) => {
    const folder = temporaryFolder(t);
    const ended = join(folder, 'ended');
    const records = join(folder, 'launches');
    const add = openProcessRecords(records);
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
