// `parley keys create|list|revoke`.
import { parseArgs } from 'node:util';
import { RefusalError } from '../../errors.ts';
import { KeyName, keyKinds, type Scope, scopes } from '../../keys/schema.ts';
import { commandName } from '../../process/program.ts';
import { ownerName } from '../../users/owner.ts';
import { UserName } from '../../users/schema.ts';
import { compileCheck } from '../../validation/validation.ts';
import { chooseAction } from '../actions.ts';
import type { Command } from '../command.ts';
import { exits, outputHelp, placeHelp } from '../exits.ts';
import { keyPlace } from '../keyPlaces.ts';
import { createOutput, outputOptions } from '../terminal/output.ts';
import { plainLine } from '../terminal/plainText.ts';
import { printRecords, shortTime } from '../terminal/table.ts';

const help = `Usage: ${commandName} keys create [--user NAME] [--kind session|bearer] [--name TEXT] [--scope SCOPE]… [--expires 30d]
       ${commandName} keys list [--json|--text]
       ${commandName} keys revoke ID

Makes, lists and revokes credentials. A running service knows within a second.

create   Prints the new key, this once. The user is made where new (default: ${ownerName}, or the user of your key).
         --kind     session (X-Session-API-Key, default) or bearer (reads the reduced settings only)
         --scope    may be given several times: all, or one of
                    ${scopes.join(', ')}
                    (default: all but keys:manage and admin)
         --expires  when it ends: a number and m, h or d, such as 12h or 30d (default: never)
list     Shows the newest 2,000 keys of all users, or of yours, never the secret part.
revoke   Ends a key at once and for good.

${placeHelp}Over HTTP your key must hold keys:manage, and admin for other users than its own.

${outputHelp}
Example: ${commandName} keys create --user ada --name laptop --expires 90d
`;

const secondUserNote =
  'Parley has a second user now. It no longer connects to private addresses that users name: local models (ollama/…, a private llm_base_url), webhooks and MCP servers. To allow hosts, start it with PARLEY_ALLOW_PRIVATE_ADDRESSES=127.0.0.1:11434 or the like.\n';

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function expiresAt(text: string | undefined): string | null {
  if (text === undefined) return null;
  const [, count = '', unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  if (unitMs === undefined)
    throw new RefusalError('--expires must be a number and m, h or d, such as 12h or 30d.');
  return new Date(Date.now() + Number(count) * unitMs).toISOString();
}

function oneOf<Value extends string>(flag: string, known: readonly Value[], text: string): Value {
  const value = known.find((k) => k === text);
  if (value === undefined) throw new RefusalError(`${flag} must be one of ${known.join(', ')}.`);
  return value;
}

function checkWord(flag: string, schema: Parameters<typeof compileCheck>[0], word: string): void {
  const [fault] = compileCheck(schema)(word)?.details ?? [];
  if (fault !== undefined) throw new RefusalError(`${flag} ${fault.message}.`);
}

function askedScopes(words: readonly string[] | undefined): { scopes?: Scope[] } {
  if (words === undefined) return {};
  const asked = words.flatMap((word): readonly Scope[] =>
    word === 'all' ? scopes : [oneOf('--scope', scopes, word)],
  );
  return { scopes: [...new Set(asked)] };
}

async function create(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      user: { type: 'string' },
      kind: { type: 'string', default: 'session' },
      name: { type: 'string', default: 'command line' },
      scope: { type: 'string', multiple: true },
      expires: { type: 'string' },
    },
  });
  const { user, name } = values;
  if (user !== undefined) checkWord('--user', UserName, user);
  checkWord('--name', KeyName, name);
  const { key: made, isSecondUser } = await keyPlace().create({
    kind: oneOf('--kind', keyKinds, values.kind),
    name,
    ...askedScopes(values.scope),
    expires_at: expiresAt(values.expires),
    ...(user === undefined ? {} : { user }),
  });
  process.stdout.write(`${plainLine(made.key)}\n`);
  if (isSecondUser) process.stderr.write(secondUserNote);
  const about = `A ${made.kind} key for ${made.user}, id ${made.id}, ${made.scopes.join(' ')}.`;
  process.stderr.write(`${plainLine(about)} It is not shown again.\n`);
  return exits.done;
}

async function list(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...argv], options: outputOptions });
  const output = createOutput(values);
  const timeOf = (time: string | null) => (time === null ? '-' : shortTime(time));
  printRecords(output, await keyPlace().list(), {
    headings: ['ID', 'USER', 'KIND', 'NAME', 'EXPIRES', 'LAST USED', 'SCOPES'],
    row: (r) => [
      r.id,
      r.user,
      r.kind,
      r.name,
      r.revoked_at === null ? timeOf(r.expires_at) : 'revoked',
      timeOf(r.last_used_at),
      r.scopes.join(' '),
    ],
  });
  return exits.done;
}

async function revoke(argv: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...argv], allowPositionals: true });
  const [id, ...rest] = positionals;
  if (id === undefined || rest.length > 0)
    throw new RefusalError(`Give the id of one key; "${commandName} keys list" shows them.`);
  const revoked = await keyPlace().revoke(id);
  process.stderr.write(`${plainLine(`Key ${revoked.id} of ${revoked.user}`)} is revoked.\n`);
  return exits.done;
}

const actions = { create, list, revoke };

async function run([action, ...rest]: readonly string[]): Promise<number> {
  return chooseAction('keys', actions, action)(rest);
}

export const keys: Command = { help, run };
