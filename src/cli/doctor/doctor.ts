// `parley doctor`: checks the installation and says how to fix what is wrong.
import type { Settings } from '../../client/parley.ts';
import type { Config } from '../../config.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { providerKeyKind } from '../../providerKeys/service.ts';
import { plainText } from '../../text/plainText.ts';
import { ownerName } from '../../users/owner.ts';
import { hasOneUser } from '../../users/store.ts';
import { withDatabase, withSettings } from '../backends/database.ts';
import type { Handler } from '../command.ts';
import {
  fetchFor,
  findKey,
  isServiceNamed,
  type ServiceAddress,
  serviceAddress,
} from '../connection/connection.ts';
import { readCommandConfig } from '../connection/dataFolder.ts';
import type { doctorCommand } from '../declarations/services.ts';
import { exits } from '../exits.ts';
import { createOutput, type Output } from '../terminal/output.ts';
import { checkDatabase } from './database.ts';
import { type Finding, note, ok, wrong } from './finding.ts';
import { checkAgents, checkDataDir, checkLimits, checkOwnLimits, checkSandbox } from './machine.ts';
import { checkModel, checkPrivateAddresses } from './model.ts';
import { checkPath } from './path.ts';
import { type CheckedSettings, checkPort, checkService, type ServiceCheck } from './service.ts';
import { checkSignIn } from './signIn.ts';
import { checkSnapshots } from './snapshots.ts';
import { checkTls } from './tls.ts';

const ofStartFromHere =
  'A service that is started from here could not start. Run this command with the environment of the service.';

/** Whether the database can be opened as it is, without a migration. */
const isDatabaseReady = (found: readonly Finding[]) =>
  found.some(({ check, state }) => check === 'database' && state === 'ok');

/** The owner's settings, from the service or from a database that can be opened as it is. */
async function ownSettings(
  asked: ServiceCheck | undefined,
  found: Finding[],
): Promise<CheckedSettings | undefined> {
  if (asked?.settings !== undefined) return asked.settings;
  if (!isDatabaseReady(found)) return undefined;
  try {
    return await withSettings(ownerName, async (settings, { userId }) => ({
      ...((await settings.read(userId)) as Settings),
      providerKeys: await settings.secretNames(userId, providerKeyKind),
    }));
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    // A running service has its key in an environment of its own.
    if (asked === undefined) found.push(note('settings', error.message, ofStartFromHere));
    return undefined;
  }
}

/** Whether there is only one user. A database that cannot be opened yet has at most one. */
async function isAlone(found: readonly Finding[]): Promise<boolean> {
  if (!isDatabaseReady(found)) return true;
  return withDatabase((database) => database.run(hasOneUser, null));
}

/** A key that cannot be read is a finding and does not end the checks. */
function tryFindKey(address: ServiceAddress): string | RefusalError | undefined {
  try {
    return findKey(address);
  } catch (error) {
    if (error instanceof RefusalError) return error;
    throw error;
  }
}

/** Checks the way to a service that the user has named. */
async function pathFindings(address: ServiceAddress, asked: ServiceCheck | undefined): Promise<Finding[]> {
  const { url } = address;
  if (asked === undefined && url.startsWith('http:')) return [];
  const tls = await checkTls(url);
  const key = tryFindKey(address);
  // The key is sent again only to a service that has accepted it.
  if (asked?.settings === undefined || typeof key !== 'string') return [tls];
  return [tls, ...(await checkPath({ url, key, send: fetchFor(address) ?? fetch }, asked.diagnostics))];
}

async function remoteFindings(address: ServiceAddress, asked: ServiceCheck | undefined): Promise<Finding[]> {
  const path = await pathFindings(address, asked);
  if (asked === undefined)
    return [
      ...path,
      wrong(
        'service',
        `No Parley service answers at ${address.url}.`,
        `Check that it runs, and check ${address.context === undefined ? 'PARLEY_URL' : `the context "${address.context.name}"`}.`,
      ),
    ];
  const { findings, info, settings } = asked;
  if (info === undefined) return [...path, ...findings];
  const kind = info.sandbox ?? null;
  const sandbox =
    kind === null
      ? wrong(
          'sandbox',
          'Agents cannot run there, because there is no sandbox.',
          `Run "${commandName} doctor" on that machine.`,
        )
      : kind === 'process'
        ? note(
            'sandbox',
            'Agents run there without a sandbox.',
            `Run "${commandName} doctor" on that machine.`,
          )
        : kind === 'bubblewrap' && info.seccomp === false
          ? note(
              'sandbox',
              'Agents run there in bubblewrap without a seccomp filter.',
              'Unset PARLEY_SECCOMP there.',
            )
          : ok('sandbox', `Agents run there in ${kind}.`);
  return [
    ...findings,
    ...path,
    sandbox,
    ...checkLimits(info.limits),
    await checkModel(settings, undefined, true),
  ];
}

const ofThisCommand =
  'That is by the environment of this command; the running service may have another one, which counts.';

async function localFindings(config: Config): Promise<Finding[]> {
  const address = serviceAddress();
  const asked = await checkService(address, tryFindKey(address));
  const database = await checkDatabase(config);
  const found = [
    ...checkDataDir(config),
    ...database,
    ...(await checkSnapshots(config, isDatabaseReady(database))),
    ...(await checkSignIn(config)),
    await checkSandbox(config),
  ];
  found.push(...(asked?.info === undefined ? checkOwnLimits(config) : checkLimits(asked.info.limits)));
  const settings = await ownSettings(asked, found);
  found.push(await checkAgents(config, settings === undefined ? undefined : settings.agent));
  if (asked !== undefined) {
    // The clock of the database is more important than that of the service.
    const clockKnown = found.some(({ check }) => check === 'clock');
    found.push(...asked.findings.filter(({ check }) => check !== 'clock' || !clockKnown));
  } else if (isServiceNamed())
    found.push(
      wrong('service', `No Parley service answers at ${address.url}.`, 'Start it, or check PARLEY_URL.'),
    );
  else found.push(await checkPort(config));
  if (isServiceNamed()) found.push(...(await pathFindings(address, asked)));
  const { finding, access } = await checkPrivateAddresses(config, () => isAlone(found));
  if (asked === undefined) return [...found, finding, await checkModel(settings, config.modelHosts, access)];
  // The service was started with an environment of its own, so this cannot be said for sure.
  const unsure = { ...finding, message: `${finding.message} ${ofThisCommand}` };
  return [...found, unsure, await checkModel(settings, config.modelHosts, true)];
}

const marks = { ok: ['green', '✓'], note: ['yellow', '!'], wrong: ['red', '✗'] } as const;

function print(output: Output, { check, state, message, remedy }: Finding): void {
  const [colour, mark] = marks[state];
  const { style } = output;
  output.text(`${style(colour, mark)} ${style('bold', check.padEnd(11))} ${plainText(message)}\n`);
  if (remedy !== undefined) output.text(`  ${''.padEnd(11)} ${style('dim', '→')} ${plainText(remedy)}\n`);
}

export const doctor: Handler<typeof doctorCommand> = async ({ options }) => {
  const output = createOutput(options);
  const config = readCommandConfig();
  const address = serviceAddress();
  const findings = address.isLocal
    ? await localFindings(config)
    : await remoteFindings(address, await checkService(address, tryFindKey(address)));
  for (const finding of findings) {
    if (output.isJson) output.json(finding);
    else print(output, finding);
  }
  const count = findings.filter(({ state }) => state === 'wrong').length;
  if (!output.isJson)
    output.text(
      count === 0
        ? '\nNo problems found.\n'
        : `\n${count === 1 ? '1 problem' : `${count} problems`} found.\n`,
    );
  return count === 0 ? exits.done : exits.failed;
};
