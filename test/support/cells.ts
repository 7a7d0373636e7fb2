// Cells for tests: folders that go with the test, the sandboxes that this machine has, and a look at its processes.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Bridge } from '../../src/bridge/bridge.ts';
import { openControlGroups } from '../../src/sandbox/controlGroups.ts';
import { type OpenCell, openCell } from '../../src/sandbox/openCell.ts';
import type { LaunchRecords } from '../../src/sandbox/orphans.ts';
import { probeBubblewrap } from '../../src/sandbox/probe.ts';
import { type RunOutcome, runToEnd } from '../../src/sandbox/runToEnd.ts';
import type { Cell, Sandbox } from '../../src/sandbox/sandbox.ts';

export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Hidden from whatever runs in the bubblewrap of tests, although it lies in a folder that can be read. */
export const hiddenFolder = join(import.meta.dirname, 'hidden-in-sandboxes');

const probed = await probeBubblewrap({ hidden: [hiddenFolder], folder: tmpdir(), seccomp: true });
/** Why tests with bubblewrap are skipped here; false where they are not. */
export const noBubblewrap: string | false = 'fault' in probed ? probed.fault : false;

export function bubblewrap(): Sandbox {
  if ('fault' in probed) throw new Error(probed.fault);
  return probed.sandbox;
}

export const controlGroups = openControlGroups();

let count = 0;

export function newCell(t: TestContext, more: Partial<Cell> = {}): Cell {
  const folder = temporaryFolder(t);
  const cell = { workspace: join(folder, 'workspace'), home: join(folder, 'home') };
  for (const path of Object.values(cell)) mkdirSync(path);
  const name = `test-${process.pid}-${++count}`;
  return { ...cell, name, readable: [], resourceFactor: 1, image: null, ...more };
}

interface TestCell {
  readonly cell?: Partial<Cell>;
  readonly bridge?: Bridge;
  readonly records?: LaunchRecords;
  readonly alone?: boolean;
}

/** Closed when the test ends, with its bridge. */
export async function openTestCell(t: TestContext, sandbox: Sandbox, options: TestCell = {}) {
  const { bridge, records, alone = false } = options;
  const cell = newCell(t, options.cell);
  const open = await openCell({ sandbox, cell, bridge, records, alone, controlGroups });
  t.after(async () => {
    await open.close();
    await bridge?.close();
  });
  return { cell, open };
}

const timeoutMs = 20_000;
const outputBytesMax = 1_000_000;

export interface ShellOutcome extends Omit<RunOutcome, 'stdout' | 'stderr'> {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script of the shell inside, to its end. */
export async function runShell(
  open: OpenCell,
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

/** The command lines of all processes of the machine, one text for each. */
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
