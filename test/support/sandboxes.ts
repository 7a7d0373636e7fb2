// Sandboxes for tests: temporary folders, the engines of this machine, and its processes.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Bridge } from '../../src/bridge/bridge.ts';
import { openCgroups } from '../../src/sandbox/cgroups.ts';
import { type OpenSandbox, openSandbox } from '../../src/sandbox/openSandbox.ts';
import { probeBubblewrap } from '../../src/sandbox/probe.ts';
import type { ProcessRecords } from '../../src/sandbox/processRecords.ts';
import { type RunOutcome, runToEnd } from '../../src/sandbox/runToEnd.ts';
import type { HostEngine, SandboxEngine, SandboxSpec } from '../../src/sandbox/sandbox.ts';

export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Hidden in the bubblewrap of tests, although it is in a readable folder. */
export const hiddenFolder = join(import.meta.dirname, 'hidden-in-sandboxes');

const probed = await probeBubblewrap({ hidden: [hiddenFolder], folder: tmpdir(), seccomp: true });
/** Why tests with bubblewrap are skipped here; false if they are not. */
export const noBubblewrap: string | false = 'fault' in probed ? probed.fault : false;

export function bubblewrap(): HostEngine {
  if ('fault' in probed) throw new Error(probed.fault);
  return probed.engine;
}

export const cgroups = openCgroups();

let count = 0;

export function newSandboxSpec(t: TestContext, more: Partial<SandboxSpec> = {}): SandboxSpec {
  const folder = temporaryFolder(t);
  const spec = { workspace: join(folder, 'workspace'), home: join(folder, 'home') };
  for (const path of Object.values(spec)) mkdirSync(path);
  const name = `test-${process.pid}-${++count}`;
  return { ...spec, name, readable: [], resourceFactor: 1, image: null, ...more };
}

interface TestSandboxOptions {
  readonly spec?: Partial<SandboxSpec>;
  readonly bridge?: Bridge;
  readonly records?: ProcessRecords;
  readonly exclusive?: boolean;
}

/** Closed when the test ends, with its bridge. */
export async function openTestSandbox(
  t: TestContext,
  engine: SandboxEngine,
  options: TestSandboxOptions = {},
) {
  const { bridge, records, exclusive = false } = options;
  const spec = newSandboxSpec(t, options.spec);
  const open = await openSandbox({ engine, spec, bridge, records, exclusive, cgroups });
  t.after(async () => {
    await open.close();
    await bridge?.close();
  });
  return { spec, open };
}

/** For what never ends: on a busy machine everything takes longer. */
const timeoutMs = 60_000;
const outputBytesMax = 1_000_000;

export interface ShellOutcome extends Omit<RunOutcome, 'stdout' | 'stderr'> {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a shell script inside, to its end. */
export async function runShell(
  open: OpenSandbox,
  script: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ShellOutcome> {
  const outcome = await runToEnd(
    open,
    { argv: ['sh', '-c', script], env },
    { timeoutMs, outputBytesMax, input: '' },
  );
  return { ...outcome, stdout: outcome.stdout.toString(), stderr: outcome.stderr.toString() };
}

/** The command lines of all processes of the machine. */
export function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()];
      } catch {
        return [];
      }
    });
}

/** An argument for `sleep` that no other process has. */
export function longSleep(): string {
  return `86400.${process.pid}${++count}`;
}

export const sleeps = (argument: string) =>
  commandLines().filter((line) => line === `sleep ${argument}`).length;

/** A program of Node that prints whether the host and port in AT can be reached. */
export const tryToConnect = `
const [host, port] = process.env.AT.split(' ');
require('node:net').connect({ host, port: Number(port) })
  .on('connect', () => { console.log('connected'); process.exit(); })
  .on('error', (error) => { console.log(error.code); process.exit(); })`;

/** A program of Node that asks the bridge for a connection to AT, and prints the first line of its answer. */
export const tryTheProxy = `
const socket = require('node:net').connect(3128, '127.0.0.1');
socket.write('CONNECT ' + process.env.AT + ' HTTP/1.1\\r\\nProxy-Authorization: Basic ' + process.env.TOKEN + '\\r\\n\\r\\n');
socket.on('data', (text) => { console.log(String(text).split('\\r\\n')[0]); process.exit(); });
socket.on('error', (error) => { console.log(error.code); process.exit(); });`;
