// `parley agents list` and `agents test`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseAgent, installHint, missingSentence } from '../../agents/choose.ts';
import { type AgentFault, findAgent } from '../../agents/find.ts';
import type { Profile } from '../../agents/profileSchema.ts';
import { loadGoodProfiles } from '../../agents/profiles.ts';
import { type TrialStep, tryAgent } from '../../agents/trial/trial.ts';
import type { Config } from '../../config.ts';
import { RefusalError } from '../../errors.ts';
import { probeBubblewrap } from '../../sandbox/probe.ts';
import { processEngine } from '../../sandbox/processEngine.ts';
import type { SandboxEngine } from '../../sandbox/sandbox.ts';
import { contains } from '../../sandbox/sandboxPaths.ts';
import { plainLine, plainText, withoutColours } from '../../text/plainText.ts';
import type { Handler } from '../command.ts';
import { readCommandConfig } from '../connection/dataFolder.ts';
import type { agentsListCommand, agentsTestCommand } from '../declarations/machine.ts';
import { exits } from '../exits.ts';
import { exitOfSignal, untilInterrupted } from '../terminal/interruption.ts';
import { createOutput } from '../terminal/output.ts';
import { printRecords } from '../terminal/table.ts';

/** Reports invalid profiles and returns the others, so that one mistake does not disable all agents. */
export function readableProfiles({ agentsFile }: Pick<Config, 'agentsFile'>): readonly Profile[] {
  const { profiles: good, faults } = loadGoodProfiles(agentsFile);
  for (const fault of faults) process.stderr.write(`${plainLine(fault)} This agent is left out.\n`);
  return good;
}

/** These signals end a trial, which then leaves nothing behind. */
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** `folder` is used to try the sandbox. */
async function getEngine(choice: string, folder: string): Promise<SandboxEngine> {
  if (choice === 'process') return processEngine;
  const { dataDir, seccomp } = readCommandConfig();
  const probed = await probeBubblewrap({ hidden: [dataDir], folder, seccomp: seccomp === 'on' });
  if ('engine' in probed) return probed.engine;
  if (choice === 'auto') return processEngine;
  throw new RefusalError(`The sandbox does not work: ${probed.fault}.`);
}

async function describeAgent(profile: Profile, { agentsDir }: Config) {
  const found = await findAgent(profile, { agentsDir });
  const { id, name, protocol, asks = null } = profile;
  const install = installHint(profile) ?? null;
  const record = { id, name, protocol, asks, install };
  if ('lacks' in found)
    return {
      ...record,
      found: null,
      version: null,
      in_data_folder: false,
      missing: notInstalled(profile, found),
    };
  const { foundAt, version = null } = found;
  return { ...record, found: foundAt, version, in_data_folder: contains(agentsDir, foundAt), missing: null };
}

/** In a few words, because the row already names the agent. */
function notInstalled(profile: Profile, fault: AgentFault): string {
  const hint = installHint(profile);
  if (fault.lacks !== 'agent') return missingSentence(profile, fault);
  return hint === undefined ? 'not installed' : `not installed; install it with: ${hint}`;
}

export const listAgents: Handler<typeof agentsListCommand> = async ({ options }) => {
  const config = readCommandConfig();
  const records = await Promise.all(
    readableProfiles(config).map((profile) => describeAgent(profile, config)),
  );
  printRecords(createOutput(options), records, {
    headings: ['AGENT', 'NAME', 'VERSION', 'FOUND'],
    row: ({ id, name, found, version, missing }) => [id, name, version ?? '-', found ?? missing ?? '-'],
  });
  return exits.done;
};

/** Indents the text and makes control characters visible. */
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

const trialExits = { good: exits.done, bad: exits.failed, unjudged: exits.undetermined } as const;

const confirmVerdicts = {
  good: 'The agent asks for approval before it acts.',
  bad: 'The agent does not ask for approval before it acts, or it does not work: see above.',
  unjudged: 'It could not be determined whether the agent asks for approval before it acts.',
} as const;

export const testAgent: Handler<typeof agentsTestCommand> = async ({ args, options }) => {
  const { confirm, model } = options;
  const config = readCommandConfig();
  const choice = await chooseAgent(readableProfiles(config), args.agent, config);
  if (choice.missing !== undefined) throw new RefusalError(choice.missing);
  const { profile, found } = choice;
  const folder = mkdtempSync(join(tmpdir(), 'parley-agent-'));
  try {
    return await untilInterrupted(endingSignals, async (signal) => {
      const engine = await getEngine(options.sandbox, folder);
      const version = found.version === undefined ? '' : ` ${found.version}`;
      const about = `${profile.name}${version}, ${found.foundAt}, sandbox ${engine.kind}`;
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
};
