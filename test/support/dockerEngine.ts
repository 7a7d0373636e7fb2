// A real Docker engine for tests, in namespaces of its own: whatever it starts and mounts ends with it. Its data and its
// socket are in a temporary folder.
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { childrenOf } from '../../src/sandbox/processes.ts';
import { mib } from '../../src/validation/schema.ts';
import { until } from './until.ts';

const startWithinMs = 30_000;
const commandMsMax = 5 * 60_000;
const outputBytesMax = 16_000_000;
const logCharsMax = 2_000;
/** If the machine has less memory, images are on the disk. */
const imageBytesMax = 4 * 1_024 * mib;

export interface DockerEngine {
  /** Its first process; containers are below it. */
  readonly pid: number;
  /** The value of DOCKER_HOST. */
  readonly host: string;
  /** Whether containers can run with gVisor. */
  readonly hasGvisor: boolean;
  /** The environment of the client. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs the client and returns its output. Rejects if it fails. */
  docker(...args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

/** Where Debian installs the engine, which a user's PATH may lack. */
const path = [process.env['PATH'], '/usr/sbin', '/sbin'].join(delimiter);

function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`], { env: { PATH: path } }).status === 0;
}

/** The reason to skip tests that need an engine; false if one can be started. */
export function findMissingEngine(): string | false {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root to start a Docker engine';
  const missing = ['dockerd', 'docker', 'docker-init', 'unshare'].find((program) => !isInstalled(program));
  return missing === undefined ? false : `${missing} is not installed`;
}

function engineConfig(hasGvisor: boolean): object {
  // Nothing here may change the firewall of the machine.
  const network = { iptables: false, bridge: 'none' };
  // As docs/sandbox.md says: agents need the socket of the bridge, and no network.
  const runtimes = { runsc: { path: 'runsc', runtimeArgs: ['--network=none', '--host-uds=open'] } };
  return { ...network, ...(hasGvisor ? { runtimes } : {}) };
}

/**
 * Images are in memory, which saves half a minute of waiting for the disk. The first process of a namespace has to take
 * care of those that lost their parent, which the engine does not.
 */
const engineScript = `[ "$1" = disk ] || mount -t tmpfs -o size=${imageBytesMax} parley "$2" || exit
shift 2
exec docker-init -- dockerd "$@"`;

function spawnEngine(folder: string, host: string): ChildProcess {
  const log = openSync(join(folder, 'log'), 'w');
  const root = join(folder, 'root');
  mkdirSync(root);
  const namespaces = ['--mount', '--propagation', 'slave', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const folders = ['--data-root', root, '--exec-root', join(folder, 'exec')];
  const files = ['--pidfile', join(folder, 'pid'), '--config-file', join(folder, 'daemon.json')];
  const place = freemem() > 2 * imageBytesMax ? 'memory' : 'disk';
  const engine = ['sh', '-c', engineScript, 'engine', place, root, ...folders, ...files, '--host', host];
  const child = spawn('unshare', [...namespaces, ...engine], {
    stdio: ['ignore', log, log],
    env: { PATH: path, HOME: folder },
  });
  closeSync(log);
  return child;
}

/** Throws with the last lines of its log if it does not start. */
export async function startDockerEngine(): Promise<DockerEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-docker-'));
  const host = `unix://${join(folder, 'docker.sock')}`;
  const hasGvisor = isInstalled('runsc');
  writeFileSync(join(folder, 'daemon.json'), JSON.stringify(engineConfig(hasGvisor)));
  const child = spawnEngine(folder, host);
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);

  const env = { PATH: path, HOME: folder, DOCKER_HOST: host, DOCKER_BUILDKIT: '1' };

  async function docker(...args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)('docker', args, {
      env,
      timeout: commandMsMax,
      maxBuffer: outputBytesMax,
    });
    return stdout;
  }

  async function removeContainers(): Promise<void> {
    const ids = (await docker('ps', '--all', '--quiet')).split('\n').filter(Boolean);
    if (ids.length > 0) await docker('rm', '--force', '--volumes', ...ids);
    await docker('network', 'prune', '--force');
  }

  /** It is killed, because it takes ten seconds to end by itself. */
  async function stop(): Promise<void> {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.signalCode === null) {
      // So that no cgroup and no network interface is left.
      await removeContainers().catch(() => {});
      // The end of the first process in its namespace is the end of all.
      for (const { pid } of childrenOf(child.pid ?? 0)) process.kill(pid, 'SIGKILL');
      await ended;
    }
    process.off('exit', kill);
    rmSync(folder, { recursive: true, force: true });
  }

  try {
    await until(
      'the Docker engine answers',
      async () => {
        if (child.exitCode !== null) throw new Error('the Docker engine has ended');
        if (!existsSync(join(folder, 'docker.sock'))) return false;
        return docker('version').then(
          () => true,
          () => false,
        );
      },
      startWithinMs,
    );
  } catch (error) {
    const log = readFileSync(join(folder, 'log'), 'utf8').slice(-logCharsMax);
    await stop();
    throw new Error(`${(error as Error).message}\n${log}`);
  }
  return { pid: child.pid ?? 0, host, hasGvisor, env, docker, stop };
}
