// deploy/systemd/parley.service under a real systemd, which runs in a container: the service starts, and bubblewrap works in
// spite of the hardening.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { buildOn, parleyImage } from '../support/dockerImages.ts';
import { projectDir } from '../support/program.ts';
import { until } from '../support/until.ts';
import { engine, skip } from './setup.ts';

const image = 'parley-test/systemd';
const name = 'parley-test-systemd';
const startWithinMs = 60_000;
/** From 0 to 10, in the words of systemd: from 4 on it is "medium". */
const exposureMax = 4;

/** systemd creates cgroups below that of the container. */
const initScript =
  'for one in /sys/fs/cgroup/*/; do mount -o remount,rw "$one"; done; exec /lib/systemd/systemd';

const inside = (...command: readonly string[]) => engine().docker('exec', name, ...command);

describe('the systemd unit', { skip }, () => {
  before(async () => {
    const { docker } = engine();
    const unit = '/etc/systemd/system/parley.service';
    await buildOn(engine(), image, {
      from: parleyImage,
      files: { [join(projectDir, 'deploy/systemd/parley.service')]: unit.slice(1) },
      lines: [
        'RUN apt-get update && apt-get install --yes --no-install-recommends systemd',
        'RUN systemctl enable parley.service && systemctl mask console-getty.service systemd-logind.service',
        'HEALTHCHECK NONE',
        // The unit decides, not the image.
        'ENV HOST= PORT= PARLEY_DATA_DIR= XDG_CACHE_HOME=',
      ],
    });
    const rights = ['--cap-add', 'SYS_ADMIN', '--cgroupns', 'private', '--tmpfs', '/run', '--tmpfs', '/tmp'];
    const opened = ['--security-opt', 'seccomp=unconfined', '--security-opt', 'systempaths=unconfined'];
    const command = ['--entrypoint', '/bin/sh', image, '-c', initScript];
    await docker('run', '--detach', '--name', name, '--network', 'none', ...rights, ...opened, ...command);
  });

  it('starts the service as its user, with agents in bubblewrap', async () => {
    const text = await until(
      'the service answers',
      () => inside('curl', '--silent', '--fail', 'http://127.0.0.1:3000/server_info').catch(() => undefined),
      startWithinMs,
    );
    const { sandbox, seccomp } = JSON.parse(text);
    assert.deepEqual([sandbox, seccomp], ['bubblewrap', true]);
    const pid = (await inside('systemctl', 'show', '--property=MainPID', '--value', 'parley')).trim();
    assert.equal(await inside('stat', '--format=%U', `/proc/${pid}`), 'parley\n');
    assert.equal(await inside('stat', '--format=%U %a', '/var/lib/parley/owner.key'), 'parley 600\n');
  });

  it('is hardened, and has no unknown settings', async () => {
    const report = await inside('systemd-analyze', 'security', '--no-pager', 'parley.service');
    const exposure = Number(/Overall exposure level for parley\.service: ([\d.]+)/.exec(report)?.[1]);
    assert.ok(exposure < exposureMax, report);
    const faults = await inside('sh', '-c', 'systemd-analyze verify parley.service 2>&1 || true');
    // Older versions of systemd do not know it.
    const ours = faults
      .split('\n')
      .filter((line) => line.includes('parley.service') && !/DelegateSubgroup/.test(line));
    assert.deepEqual(ours, []);
  });

  it('stops the service without an error', async () => {
    await inside('systemctl', 'stop', 'parley');
    const shown = await inside('systemctl', 'show', '--property=Result,ExecMainStatus', 'parley');
    assert.deepEqual(shown.trim().split('\n').sort(), ['ExecMainStatus=0', 'Result=success']);
  });
});
