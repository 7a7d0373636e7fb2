// `parley doctor`: looks at everything that must be right, and says what to do where it is not.
import { parseArgs } from 'node:util';
import type { Settings } from '../../client/parley.ts';
import { type Config, readConfig } from '../../config.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { ownerName } from '../../users/owner.ts';
import { hasOneUser } from '../../users/store.ts';
import type { Command } from '../command.ts';
import { findKey, isAddressNamed, type ServiceAddress, serviceAddress } from '../connection.ts';
import { withDatabase, withSettings } from '../database.ts';
import { exits } from '../exits.ts';
import { createOutput, type Output, outputOptions } from '../terminal/output.ts';
import { plainText } from '../terminal/plainText.ts';
import { checkDatabase } from './database.ts';
import { type Finding, note, ok, wrong } from './finding.ts';
import { checkAgents, checkDataDir, checkSandbox } from './machine.ts';
import { checkModel, checkPrivateAddresses } from './model.ts';
import { type AskedService, askService, checkPort } from './service.ts';

const help = `Usage: ${commandName} doctor [--json|--text]

Looks at the data folder, the disk, the database, the sandbox, the agents, the service and its port, the key, the
clock, and the model with its key and address, and says for each whether it is right and, where it is not, what to do.
It changes nothing, and sends the model nothing. With a PARLEY_URL on another machine it asks that service alone.

Run it where the service runs, with the same environment (PARLEY_DATA_DIR, DATABASE_URL, PORT …).

Exit codes: 0 nothing is wrong, 1 something is, 2 wrong use or an option that cannot be read.
`;

/** Beside a service, or without one where the database can be opened as it is. */
async function ownSettings(
  asked: AskedService | undefined,
  found: readonly Finding[],
): Promise<Settings | undefined> {
  if (asked !== undefined) return asked.settings;
  if (!found.some(({ check, state }) => check === 'database' && state === 'ok')) return undefined;
  try {
    return (await withSettings(ownerName, (settings, { userId }) => settings.read(userId))) as Settings;
  } catch (error) {
    if (error instanceof RefusalError) return undefined;
    throw error;
  }
}

/** Whether there is only one user. A database that cannot be opened yet has at most one. */
async function isAlone(found: readonly Finding[]): Promise<boolean> {
  if (!found.some(({ check, state }) => check === 'database' && state === 'ok')) return true;
  return withDatabase((database) => database.run(hasOneUser, null));
}

/** What keeps it from being read is a finding, and ends nothing. */
function lookForKey(address: ServiceAddress): string | RefusalError | undefined {
  try {
    return findKey(address);
  } catch (error) {
    if (error instanceof RefusalError) return error;
    throw error;
  }
}

async function remoteFindings(asked: AskedService | undefined, url: string): Promise<Finding[]> {
  if (asked === undefined)
    return [wrong('service', `No Parley answers at ${url}.`, 'Check PARLEY_URL, and that the service runs.')];
  const { findings, info, settings } = asked;
  if (info === undefined) return [...findings];
  const kind = info.sandbox ?? null;
  const sandbox =
    kind === null
      ? wrong('sandbox', 'Agents cannot run there.', `Run "${commandName} doctor" on that machine.`)
      : kind === 'process'
        ? note('sandbox', 'Agents run there without one.', `Run "${commandName} doctor" on that machine.`)
        : kind === 'bubblewrap' && info.seccomp === false
          ? note(
              'sandbox',
              'Agents run there in bubblewrap without a seccomp filter.',
              'Unset PARLEY_SECCOMP there.',
            )
          : ok('sandbox', `Agents run there in ${kind}.`);
  return [...findings, sandbox, await checkModel(settings, undefined, true)];
}

async function localFindings(config: Config): Promise<Finding[]> {
  const address = serviceAddress();
  const asked = await askService(address, lookForKey(address));
  const found = [...checkDataDir(config), ...(await checkDatabase(config)), await checkSandbox(config)];
  const settings = await ownSettings(asked, found);
  found.push(await checkAgents(config, settings === undefined ? undefined : settings.agent));
  if (asked !== undefined) {
    // The clock of the database is the one that counts.
    const clockKnown = found.some(({ check }) => check === 'clock');
    found.push(...asked.findings.filter(({ check }) => check !== 'clock' || !clockKnown));
  } else if (isAddressNamed())
    found.push(wrong('service', `No Parley answers at ${address.url}.`, 'Start it, or check PARLEY_URL.'));
  else found.push(await checkPort(config));
  const addresses = await checkPrivateAddresses(config, () => isAlone(found));
  return [...found, addresses.finding, await checkModel(settings, config.modelHosts, addresses.access)];
}

const marks = { ok: ['green', '✓'], note: ['yellow', '!'], wrong: ['red', '✗'] } as const;

function print(output: Output, { check, state, message, remedy }: Finding): void {
  const [colour, mark] = marks[state];
  const { style } = output;
  output.text(`${style(colour, mark)} ${style('bold', check.padEnd(11))} ${plainText(message)}\n`);
  if (remedy !== undefined) output.text(`  ${''.padEnd(11)} ${style('dim', '→')} ${plainText(remedy)}\n`);
}

async function run(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...argv], options: outputOptions });
  const output = createOutput(values);
  const config = readConfig(process.env);
  const address = serviceAddress();
  const findings = address.isLocal
    ? await localFindings(config)
    : await remoteFindings(await askService(address, lookForKey(address)), address.url);
  for (const finding of findings) {
    if (output.isJson) output.json(finding);
    else print(output, finding);
  }
  const count = findings.filter(({ state }) => state === 'wrong').length;
  if (!output.isJson)
    output.text(
      count === 0
        ? '\nNothing is wrong.\n'
        : `\n${count === 1 ? '1 thing is' : `${count} things are`} wrong.\n`,
    );
  return count === 0 ? exits.done : exits.failed;
}

export const doctor: Command = { help, run };
