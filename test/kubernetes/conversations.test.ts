// The service with a pod for each conversation, on a real cluster.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startBuiltin } from '../support/builtinRuns.ts';
import { commit, git, startGitServer } from '../support/gitServer.ts';
import { type RunsOptions, startRuns } from '../support/runs.ts';
import { ending, errorsAndNotices, shell } from '../support/runTalk.ts';
import { createCluster, makeFiles, showFiles, shownFiles, snapshotNotices } from '../support/snapshots.ts';
import { until } from '../support/until.ts';
import { uploadFiles } from '../support/uploads.ts';
import { createPods, skip } from './pods.ts';

const pods = skip === false ? await createPods() : undefined;
const inPods = (more?: Partial<RunsOptions>) => pods?.options(more) ?? {};
const listPods = async () => (await pods?.list()) ?? [];
const untilNoPods = async () => pods?.untilNone();

describe('a conversation in a pod', { skip }, () => {
  it('answers messages, shows and takes files, runs commands, and leaves no pod when it stops', async (t) => {
    const runs = await startRuns(inPods(), t);
    const id = await runs.create('hello there');
    assert.deepEqual(await runs.turns(id, 1), ['You said: hello there']);
    assert.equal(
      await shell(runs, id, 2, 'echo made >made.txt; pwd; id -u; hostname'),
      '/workspace\n1000\nparley\n',
    );
    const { body } = await runs.service.ask(`/api/conversations/${id}/select-file?file=made.txt`);
    assert.equal(body.code, 'made\n');
    const { status } = await uploadFiles(runs.service, id, [['given.txt', 'from the user\n']]);
    assert.equal(status, 200);
    assert.equal(await shell(runs, id, 3, 'cat given.txt'), 'from the user\n');
    const [pod] = await listPods();
    assert.equal(pod?.metadata.labels?.['parley.dev/conversation'], id);
    assert.ok(runs.service.logs().includes('Agents run in Kubernetes pods'));
    await runs.stop(id);
    await runs.reaches(id, 'STOPPED');
    await untilNoPods();
  });

  it('runs the built-in agent, whose model and network are behind the bridge', async (t) => {
    const script = [
      {
        run: 'curl -sS -m 5 http://10.0.0.1/ 2>&1 | head -c 300 >out.txt; echo "$HTTPS_PROXY" | cut -d@ -f2 >proxy.txt',
      },
      { say: 'It is made.' },
    ];
    const runs = await startBuiltin(t, script, inPods());
    const id = await runs.create('Look around');
    assert.deepEqual(await runs.turns(id, 1), ['It is made.']);
    const read = async (name: string) =>
      (await runs.service.ask(`/api/conversations/${id}/select-file?file=${name}`)).body.code;
    assert.equal(await read('proxy.txt'), '127.0.0.1:3128\n');
    assert.match(await read('out.txt'), /not allowed|private|refuse/i);
    await runs.stop(id);
    await untilNoPods();
  });

  it('clones its repository, runs the setup script and pushes, without the token of the user', async (t) => {
    const token = 'the-git-token';
    const host = await startGitServer(t, { credential: `x-access-token:${token}` });
    const repository = host.repository('team/app');
    const setup = 'echo "made over $HTTPS_PROXY" | cut -d: -f1 >made.txt\n';
    commit(repository, 'main', { 'README.md': 'main\n', '.openhands/setup.sh': setup });
    const runs = await startRuns(inPods({ env: { PARLEY_GIT_HOSTS: `github=${host.url}` } }), t);
    const json = { provider_tokens: { github: { token } } };
    await runs.service.ask('/api/add-git-providers', { json });
    const id = await runs.create('cat README.md\ncat made.txt', { repository: 'team/app' });
    assert.deepEqual(await runs.turns(id, 1), ['main\nmade over http\n']);
    await shell(
      runs,
      id,
      2,
      'git checkout -qb work; git add made.txt; git commit -qm mine; git push -q origin work',
    );
    assert.equal(git(repository, ['log', '--format=%s', '-1', 'work']), 'mine');
    assert.ok(!(await shell(runs, id, 3, 'env; cat .git/config')).includes(token));
    await runs.stop(id);
    await untilNoPods();
  });
});

describe('the files of a conversation in a pod', { skip }, () => {
  it('come back from their snapshot with the session, and can be read while it is stopped', async (t) => {
    const cluster = await createCluster(t, { kind: 'sqlite' });
    const machine = await cluster.startMachine(inPods());
    const id = await cluster.createStored(machine, makeFiles);
    await machine.stop(id);
    await machine.reaches(id, 'STOPPED');
    await untilNoPods();
    const path = `/api/conversations/${id}/select-file?file=d/b.txt`;
    const { status, body } = await machine.service.ask(path);
    assert.equal(status, 200);
    assert.equal(body.code, 'two\n');
    assert.equal((await machine.service.ask(path)).body.code, 'two\n');
    // One copy serves all readers.
    assert.equal((await listPods()).length, 1);
    await machine.start(id);
    await machine.reaches(id, 'RUNNING');
    assert.equal(await shell(machine, id, 2, showFiles), shownFiles);
    assert.deepEqual(snapshotNotices(await machine.events(id)), ['SNAPSHOT_RESTORED']);
    await machine.service.stop();
    await untilNoPods();
  });

  it('are lost with the pod if there are no snapshots, and the log says so', async (t) => {
    const runs = await startRuns(inPods(), t);
    const id = await runs.create(`really-run ${makeFiles}`);
    await runs.turns(id, 1);
    await runs.stop(id);
    await runs.reaches(id, 'STOPPED');
    const { status } = await runs.service.ask(`/api/conversations/${id}/select-file?file=a.txt`);
    assert.notEqual(status, 200);
    await runs.start(id);
    await runs.reaches(id, 'RUNNING');
    assert.equal(await shell(runs, id, 2, 'ls'), '');
    assert.match(errorsAndNotices(await runs.events(id)).join(), /no snapshot of its files/);
    await runs.stop(id);
    await untilNoPods();
  });
});

describe('the size of a conversation in a pod', { skip }, () => {
  it('is limited by the operator', async (t) => {
    const runs = await startRuns(inPods({ env: { PARLEY_WORKSPACE_MB: '1' } }), t);
    const id = await runs.create('really-run head -c 2000000 /dev/zero >big\nhang');
    const { code, message } = await ending(runs, id);
    assert.equal(code, 'workspace_error');
    assert.match(message, /^The workspace and home folder exceed 1 MB\. Start a new conversation/);
    await untilNoPods();
  });

  it('is limited in files by the operator', async (t) => {
    const runs = await startRuns(inPods({ env: { PARLEY_WORKSPACE_FILES: '200' } }), t);
    const id = await runs.create('really-run for i in $(seq 300); do : >$i; done\nhang');
    const { code, message } = await ending(runs, id);
    assert.equal(code, 'workspace_error');
    assert.match(message, /^The workspace and home folder exceed 200 files\./);
    await untilNoPods();
  });
});

describe('a pod that is lost', { skip }, () => {
  it('is replaced if it was deleted, with the files of the last turn', async (t) => {
    const cluster = await createCluster(t, { kind: 'sqlite' });
    const machine = await cluster.startMachine(inPods());
    const id = await cluster.createStored(machine, makeFiles);
    const [pod] = await listPods();
    await pods?.kubectl('delete', 'pod', pod?.metadata.name ?? '', '--grace-period=1');
    assert.equal(await shell(machine, id, 2, showFiles), shownFiles);
    const notices = errorsAndNotices(await machine.events(id)).join('\n');
    assert.match(notices, /The pod of the conversation was lost: it was deleted.*continues in a new one/);
    await machine.stop(id);
    await untilNoPods();
  });

  it('is replaced if its supervisor was killed', async (t) => {
    const runs = await startRuns(inPods(), t);
    const id = await runs.create('hello');
    await runs.turns(id, 1);
    await runs.say(id, 'really-run kill -9 $(pgrep -f supervisor.js)');
    await until('it is lost', async () => /was lost/.test(errorsAndNotices(await runs.events(id)).join()));
    await runs.stop(id);
    await untilNoPods();
  });

  it('is not there if its image is not, and the reason names it', async (t) => {
    const env = { PARLEY_KUBERNETES_IMAGE: 'localhost/no-such-image:1' };
    const runs = await startRuns(inPods({ env }), t);
    const { code, message } = await ending(runs, await runs.create('hello'));
    assert.equal(code, 'no_sandbox');
    assert.match(
      message,
      /the pod does not start: (ErrImagePull|ErrImageNeverPull|ImagePullBackOff).*no-such-image/s,
    );
    await untilNoPods();
  });
});
