// Where the kernel lets us, with real groups; what only other kernels do, on folders that look like theirs.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { cgroups, longSleep, newSandboxSpec, sleeps, temporaryFolder } from '../../test/support/sandboxes.ts';
import { until } from '../../test/support/until.ts';
import { findCgroupParents } from './cgroupParents.ts';
import { endCgroup, findMissingLimits, limitsHold, openCgroups } from './cgroups.ts';
import { processEngine } from './processEngine.ts';
import { startProcess } from './sandboxProcess.ts';

const mountLine = (folder: string, type: string, options: string) =>
  `30 25 0:26 / ${folder} rw,nosuid shared:9 - ${type} cgroup rw,${options}`;

/** A hierarchy of the first version: a folder with the files that the kernel would put there. */
function fakeHierarchy(t: TestContext, path: string): string {
  const root = temporaryFolder(t);
  mkdirSync(join(root, path), { recursive: true });
  return root;
}

describe('the parents for cgroups', () => {
  it('are the own cgroup in each hierarchy of version 1, if that is the top', (t) => {
    const [memory, pids] = [fakeHierarchy(t, 'a'), fakeHierarchy(t, '')];
    const mounts = [mountLine(memory, 'cgroup', 'memory'), mountLine(pids, 'cgroup', 'pids')].join('\n');
    assert.deepEqual(findCgroupParents({ own: '8:pids:/\n4:memory:/\n', mounts, uid: 0 }), [
      { version: 1, folder: memory, controllers: ['memory'] },
      { version: 1, folder: pids, controllers: ['pids'] },
    ]);
  });

  it('are not cgroups of somebody else, although root could write there', (t) => {
    const memory = fakeHierarchy(t, 'a/b');
    const mounts = mountLine(memory, 'cgroup', 'memory');
    const own = '4:memory:/a/b\n';
    assert.deepEqual(findCgroupParents({ own, mounts, uid: 0 }), []);
    const uid = statSync(memory).uid;
    const expected = uid === 0 ? [] : [{ version: 1, folder: join(memory, 'a/b'), controllers: ['memory'] }];
    assert.deepEqual(findCgroupParents({ own, mounts, uid }), expected);
  });

  it('are the cgroup above the one that a unit names for the service, in version 2', (t) => {
    const root = fakeHierarchy(t, 'system.slice/parley.service/parley-service');
    const folder = join(root, 'system.slice/parley.service');
    writeFileSync(join(folder, 'cgroup.controllers'), 'cpu io memory pids\n');
    const mounts = mountLine(root, 'cgroup2', 'nsdelegate');
    const own = '0::/system.slice/parley.service/parley-service\n';
    assert.deepEqual(findCgroupParents({ own, mounts, uid: 0 }), [
      { version: 2, folder, controllers: ['memory', 'pids'] },
    ]);
    assert.equal(readFileSync(join(folder, 'cgroup.subtree_control'), 'utf8'), '+memory +pids');
  });

  it('are none if the system reports nothing', () => {
    assert.deepEqual(findCgroupParents({ own: '', mounts: '', uid: 0 }), []);
    const { holds } = openCgroups({ own: '', mounts: '', uid: 0 });
    assert.deepEqual(holds, { memory: false, processes: false });
  });
});

describe('the limits of a cgroup', () => {
  it('are written for the version of the hierarchy, and scaled', (t) => {
    const root = fakeHierarchy(t, '');
    writeFileSync(join(root, 'cgroup.controllers'), 'memory pids');
    const mounts = mountLine(root, 'cgroup2', 'nsdelegate');
    const places = findCgroupParents({ own: '0::/\n', mounts, uid: 0 });
    assert.equal(places.length, 1);
    // A folder that is none of the kernel's keeps its files, so the trial cannot clean up and the place is not taken.
    assert.equal(openCgroups({ own: '0::/\n', mounts, uid: 0 }).holds.memory, false);
    const trial = join(root, readdirSync(root).find((name) => name.startsWith('parley-trial')) ?? '');
    const gib = 1_024 ** 3;
    assert.equal(readFileSync(join(trial, 'memory.max'), 'utf8'), String(4 * gib));
    assert.equal(readFileSync(join(trial, 'pids.max'), 'utf8'), '1024');
  });

  it('are enforced in containers on any machine, and for processes in bubblewrap unless root starts it', () => {
    const none = openCgroups({ own: '', mounts: '', uid: 0 });
    assert.deepEqual(limitsHold('docker', none), { memory: true, processes: true });
    assert.deepEqual(limitsHold('process', none), { memory: false, processes: false });
    assert.equal(limitsHold('bubblewrap', none, 0).processes, false);
    assert.equal(limitsHold('bubblewrap', none, 1_000).processes, true);
  });
});

describe('the end of a cgroup', () => {
  it('is given up if something stays, within one timeout for all its cgroups, and reported', async (t) => {
    // Folders that are none of the kernel's keep their files, as a group keeps what cannot be killed.
    const folder = temporaryFolder(t);
    const groups = [folder, join(folder, 'a'), join(folder, 'a/b'), join(folder, 'a/b/c')];
    for (const group of groups) {
      mkdirSync(group, { recursive: true });
      writeFileSync(join(group, 'cgroup.procs'), '');
    }
    assert.equal(await endCgroup(folder, 20), false);
    assert.equal(await endCgroup(join(folder, 'none'), 20), true);
  });
});

describe('a cgroup', {
  skip: !cgroups.holds.processes && 'there are no control groups here',
}, () => {
  it('contains what is started in it, kills it, and is removed then', async (t) => {
    const spec = newSandboxSpec(t, { resourceFactor: 0.5 });
    const group = cgroups.create(spec);
    t.after(() => group.end());
    const sleep = longSleep();
    const program = { argv: ['sh', '-c', `setsid sleep ${sleep} & sleep ${sleep}`], env: {} } as const;
    const { process } = startProcess({
      wrapped: processEngine.wrap(spec, program, 'none'),
      cgroup: group.createForProcess(),
      records: undefined,
      exclusiveWorkspace: null,
      handover: undefined,
    });
    await until('both run', () => sleeps(sleep) === 2);
    const folder = group.folders.find((path) => existsSync(join(path, 'pids.max'))) ?? '';
    assert.equal(readFileSync(join(folder, 'pids.max'), 'utf8'), '512\n');
    await group.end();
    assert.equal(sleeps(sleep), 0);
    assert.ok(group.folders.every((path) => !existsSync(path)));
    await (await process).ended;
  });

  it('is refused if the name is taken, and the existing one stays unchanged', async (t) => {
    const spec = newSandboxSpec(t);
    const group = cgroups.create(spec);
    t.after(() => group.end());
    assert.throws(() => cgroups.create(spec), /EEXIST/);
    assert.ok(group.folders.every((path) => existsSync(path)));
  });
});

describe('limits that are not enforced', () => {
  it('are named', () => {
    assert.equal(findMissingLimits({ memory: true, processes: true }), undefined);
    assert.match(
      findMissingLimits({ memory: false, processes: true }) ?? '',
      /^Nothing limits the memory of agents:/,
    );
    assert.match(
      findMissingLimits({ memory: false, processes: false }) ?? '',
      /^Nothing limits the memory and number of processes of agents:/,
    );
  });
});
