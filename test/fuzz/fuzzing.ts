// Drives agents that send mutated messages through a real service, beside conversations that must go on as usual.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { wellFormedJson } from '../../src/text/foreignText.ts';
import { createRandom } from '../chaos/random.ts';
import { inspect } from '../support/inspect.ts';
import { mainFile } from '../support/program.ts';
import { fakeAgentPath, type Info } from '../support/runs.ts';
import { until } from '../support/until.ts';
import { createWorkerSite, type WorkerService, type WorkerSite } from '../support/workers.ts';

const fuzzers = 4;
const others = 3;
/** Of one turn. */
const turnMessages = 1_000;
const turnMsMax = 120_000;
/** How often each way to end a turn is taken. The first is the right one. */
const ends = ['well', 'well', 'well', 'well', 'well', 'well', 'error', 'bogus', 'exit', 'half', 'deep'];

export interface FuzzResult {
  /** Mutated messages that the service has read. */
  readonly messages: number;
  readonly turns: number;
  /** Runs that a turn ended, as it was meant to. */
  readonly endedRuns: number;
  /** Turns of the other conversations meanwhile. */
  readonly otherTurns: number;
  /** The longest of them. */
  readonly otherTurnMsMax: number;
  readonly events: number;
  readonly seconds: number;
}

interface Options {
  readonly seed: number;
  readonly messages: number;
}

/** Puts the agent where the service finds it. Returns the folder for PATH. */
function installAgent(site: WorkerSite['site'], notes: string): string {
  const folder = site.createDir();
  const outfile = join(folder, 'parley-fuzz-agent');
  buildSync({
    entryPoints: [resolve(import.meta.dirname, 'agent.ts')],
    outfile,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node26',
    banner: { js: '#!/usr/bin/env node' },
    logLevel: 'error',
  });
  chmodSync(outfile, 0o755);
  const profile = (id: string, command: string, args: readonly string[]) => ({
    id,
    name: id,
    protocol: 'openai-chat',
    programs: [{ command, args, env: {} }],
  });
  const agents = [profile('fake', 'parley-fake-agent', []), profile('fuzz', 'parley-fuzz-agent', [notes])];
  writeFileSync(join(site.storage.dataDir, 'agents.json'), JSON.stringify({ agents }));
  return folder;
}

interface Note {
  readonly read?: number;
  readonly turn?: number;
}

function readNotes(folder: string): Note[] {
  const file = join(folder, 'notes.jsonl');
  if (!existsSync(file)) return [];
  // The last line may be half written.
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

/** The reasons that a turn may have to end its run. What the service could not deal with is none of them. */
const rightReasons = /^The agent (ended|sent a message that cannot be read)/;

interface Turn {
  readonly seed: number;
  readonly end: string;
  readonly count: number;
}

/** One turn of a fuzzing agent, to its end. Returns whether its run ended, too. */
async function fuzzTurn(service: WorkerService, id: string, notes: string, turn: Turn): Promise<boolean> {
  const isSent = () => readNotes(notes).some((note) => note.turn === turn.seed);
  await service.say(id, `fuzz ${turn.seed} ${turn.count} ${turn.end}`);
  const info = await until<Info>(
    `turn ${turn.seed} has ended`,
    async () => {
      // Before the state is read: it may be that of the last turn.
      const wasSent = isSent();
      const now = await service.info(id);
      if (now.status === 'STOPPED') {
        assert.ok(isSent(), `seed ${turn.seed}: ${JSON.stringify(now.stop_reason)}`);
        return now;
      }
      return wasSent && now.agent_state === 'awaiting_user_input' && now;
    },
    turnMsMax,
  );
  if (info.status !== 'STOPPED') return false;
  const { code, message } = info.stop_reason ?? { code: '', message: '' };
  assert.equal(code, 'agent_error', message);
  assert.match(message, rightReasons, `seed ${turn.seed}, ${turn.end}`);
  return true;
}

/** Goes on until it is told to stop: every message gets its answer. */
async function talk(service: WorkerService, id: string, isOver: () => boolean) {
  let turns = 1;
  let msMax = 0;
  for (; !isOver() || turns < 3; turns++) {
    const words = `words ${turns}`;
    const began = performance.now();
    await service.say(id, `say ${words}`);
    await until(
      `another conversation answers message ${turns}`,
      async () => {
        const { body } = await service.ask(`/api/conversations/${id}/events?limit=20&reverse=true`);
        const { agent_state: state } = await service.info(id);
        const said = (body.events as { message: string; source: string }[]).some(
          ({ source, message }) => source === 'agent' && message === words,
        );
        return said && state === 'awaiting_user_input';
      },
      turnMsMax,
    );
    msMax = Math.max(msMax, performance.now() - began);
  }
  return { turns, msMax };
}

async function checkLog({ site }: WorkerSite): Promise<number> {
  const rows = await inspect(site.storage, 'select json from events');
  for (const { json } of rows) {
    const text = String(json);
    assert.equal(wellFormedJson(text), text, 'a lone surrogate is in the log');
    assert.ok(text.isWellFormed());
    JSON.parse(text);
  }
  return rows.length;
}

function planTurns({ seed, messages }: Options): Turn[] {
  const random = createRandom(seed);
  return Array.from({ length: Math.ceil(messages / turnMessages) }, (_, i) => ({
    seed: random.between(1, 2 ** 31),
    end: random.pick(ends),
    count: Math.min(turnMessages, messages - i * turnMessages),
  }));
}

/** Conversations of the agent, all of them running. */
async function begin(service: WorkerService, agent: string, count: number): Promise<string[]> {
  await service.set({ agent });
  const ids = await Promise.all(Array.from({ length: count }, () => service.create()));
  for (const id of ids) await service.reaches(id, 'RUNNING');
  return ids;
}

/** Throws where anything but the fuzzed runs is touched, or one of those ends in another way than it should. */
export async function fuzz(
  options: Options,
  t: { after(fn: () => Promise<void>): void },
): Promise<FuzzResult> {
  const workers = await createWorkerSite('sqlite', t, mainFile);
  const notes = workers.site.createDir();
  const PATH = [installAgent(workers.site, notes), fakeAgentPath(), process.env['PATH']].join(delimiter);
  const service = await workers.serve({ PATH });
  const fuzzed = await begin(service, 'fuzz', fuzzers);
  const usual = await begin(service, 'fake', others);

  const turns = planTurns(options);
  const left = turns.values();
  let [endedRuns, over] = [0, false];
  async function drive(id: string): Promise<void> {
    for (const turn of left) if (await fuzzTurn(service, id, notes, turn)) endedRuns += 1;
  }
  const began = performance.now();
  const driving = Promise.all(fuzzed.map(drive)).finally(() => (over = true));
  const talks = usual.map((id) => talk(service, id, () => over));
  const [talked] = await Promise.all([Promise.all(talks), driving]);
  const seconds = Math.round((performance.now() - began) / 1_000);

  const messages = readNotes(notes).reduce((sum, { read = 0 }) => sum + read, 0);
  assert.equal(messages, options.messages, 'every message was read');
  assert.doesNotMatch(service.stderr(), /uncaught error/);
  service.send('SIGTERM');
  const { code } = await service.ended();
  assert.equal(code, 0, 'the service stops in order');
  return {
    messages,
    turns: turns.length,
    endedRuns,
    otherTurns: talked.reduce((sum, one) => sum + one.turns, 0),
    otherTurnMsMax: Math.round(Math.max(...talked.map(({ msMax }) => msMax))),
    events: await checkLog(workers),
    seconds,
  };
}
