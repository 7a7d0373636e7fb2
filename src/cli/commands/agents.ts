// `parley agents list|test`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chooseAgent } from '../../agents/choose.ts';
import { findAgent } from '../../agents/find.ts';
import { loadGoodProfiles, type Profile } from '../../agents/profiles.ts';
import { type TrialStep, tryAgent } from '../../agents/trial/trial.ts';
import { readConfig, sandboxChoices } from '../../config.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { probeBubblewrap } from '../../sandbox/probe.ts';
import { processEngine } from '../../sandbox/processEngine.ts';
import type { SandboxEngine } from '../../sandbox/sandbox.ts';
import type { Command } from '../command.ts';
import { exits, outputHelp } from '../exits.ts';
import { exitOfSignal, untilInterrupted } from '../terminal/interruption.ts';
import { createOutput, type Output, outputOptions } from '../terminal/output.ts';
import { plainLine, plainText, withoutColours } from '../terminal/plainText.ts';
import { printRecords } from '../terminal/table.ts';

/** A trial is in no container. */
const trialSandboxes: readonly string[] = sandboxChoices.filter((choice) => choice !== 'docker');

const help = `Usage: ${commandName} agents list [--json|--text]
       ${commandName} agents test NAME [--model MODEL] [--confirm] [--sandbox ${trialSandboxes.join('|')}]

list     Shows the agents that Parley knows and where each was found on this machine.
test     Starts one against a scripted model, without a key and without network, and has it write a file, run a
         command and answer, in a folder that is removed again. With --confirm it must ask before it runs commands,
         writes and edits files, and keep to the answer, although the folder is a git repository whose settings and
         hooks tell it not to.
         Agents treat some models in special ways: --model is the name that it is told. It runs in bubblewrap
         where that works, else as a process of this machine, unless --sandbox says which.

Agents are found in PATH; agents.json in the data folder, or the file that PARLEY_AGENTS_FILE names, adds some or
replaces ours: see docs/agents.md.

Exit codes of test: 0 all went well, 1 something did not, or it does not ask, 2 there is nothing to test,
            7 whether it asks could not be judged.
${outputHelp}`;

/** Reports invalid profiles and returns the others, so that one mistake does not disable all agents. */
function profiles(): readonly Profile[] {
  const { profiles: good, faults } = loadGoodProfiles(readConfig(process.env).agentsFile);
  for (const fault of faults) process.stderr.write(`${plainLine(fault)} This agent is left out.\n`);
  return good;
}

/** What ends a trial, which then leaves nothing. */
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** `folder` is one in which a launch can be tried. */
async function getSandbox(choice: string, folder: string): Promise<SandboxEngine> {
  if (choice === 'process') return processEngine;
  const { dataDir, seccomp } = readConfig(process.env);
  const probed = await probeBubblewrap({ hidden: [dataDir], folder, seccomp: seccomp === 'on' });
  if ('engine' in probed) return probed.engine;
  if (choice === 'auto') return processEngine;
  throw new RefusalError(`The sandbox cannot be had: ${probed.fault}.`);
}

async function list(output: Output): Promise<number> {
  const records = await Promise.all(
    profiles().map(async (profile) => {
      const found = await findAgent(profile);
      const { id, name, protocol, install = null } = profile;
      return { id, name, protocol, found: found?.place ?? null, version: found?.version ?? null, install };
    }),
  );
  printRecords(output, records, {
    headings: ['AGENT', 'NAME', 'VERSION', 'FOUND'],
    row: ({ id, name, found, version, install }) => [
      id,
      name,
      version ?? '-',
      found ?? (install === null ? 'not there yet' : `missing; install it with: ${install}`),
    ],
  });
  return exits.done;
}

/** Indented, and without what a terminal would obey. */
function quote(fault: string): string {
  return plainText(withoutColours(fault)).replaceAll(/^/gm, '    ');
}

function printStep({ name, ms, fault, unjudged }: TrialStep): void {
  const time = ms === undefined ? '' : `  ${(ms / 1_000).toFixed(2)} s`;
  const mark = fault !== undefined ? '✗' : unjudged !== undefined ? '?' : '✓';
  process.stdout.write(`${mark} ${name}${time}\n`);
  const why = fault ?? unjudged;
  if (why !== undefined) process.stdout.write(`${quote(why)}\n`);
}

const trialExits = { good: exits.done, bad: exits.failed, unjudged: exits.unjudged } as const;

const confirmVerdicts = {
  good: 'It asks before it acts.',
  bad: 'It does not ask before it acts, or does not work: see above.',
  unjudged: 'Whether it asks before it acts could not be judged.',
} as const;

interface Asked {
  readonly name: string;
  readonly sandbox: string;
  readonly confirm: boolean;
  readonly model: string;
}

async function test({ name, sandbox: sandboxChoice, confirm, model }: Asked): Promise<number> {
  const choice = await chooseAgent(profiles(), name);
  if (choice.missing !== undefined) throw new RefusalError(choice.missing);
  const { profile, found } = choice;
  const folder = mkdtempSync(join(tmpdir(), 'parley-agent-'));
  try {
    return await untilInterrupted(endingSignals, async (signal) => {
      const engine = await getSandbox(sandboxChoice, folder);
      const version = found.version === undefined ? '' : ` ${found.version}`;
      const about = `${profile.name}${version}, ${found.place}, sandbox ${engine.kind}`;
      process.stdout.write(`${plainLine(about)}\n`);
      const mode = confirm ? 'ask' : 'auto';
      const trial = { profile, found, engine, mode, model, folder, signal, onStep: printStep } as const;
      const verdict = await tryAgent(trial);
      if (signal.aborted) return exitOfSignal(signal.reason);
      if (confirm) process.stdout.write(`${confirmVerdicts[verdict]}\n`);
      return trialExits[verdict];
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function run(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: {
      ...outputOptions,
      sandbox: { type: 'string', default: 'auto' },
      confirm: { type: 'boolean', default: false },
      model: { type: 'string', default: 'scripted-model' },
    },
    allowPositionals: true,
  });
  const [action, name, ...rest] = positionals;
  if (action === 'list' && name === undefined) return list(createOutput(values));
  if (action !== 'test' || name === undefined || rest.length > 0)
    throw new RefusalError(`Say "${commandName} agents list" or "${commandName} agents test NAME".`);
  const { sandbox, confirm, model, json, text } = values;
  if (json || text)
    throw new RefusalError(
      `"${commandName} agents test" has no --json or --text: its exit code says how it went.`,
    );
  if (!trialSandboxes.includes(sandbox))
    throw new RefusalError(`--sandbox must be one of ${trialSandboxes.join(', ')}.`);
  return test({ name, sandbox, confirm, model });
}

export const agents: Command = { help, run };
