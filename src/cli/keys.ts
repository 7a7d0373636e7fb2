// `parley keys create|list|revoke`.
import { parseArgs } from 'node:util';
import { RefusalError } from '../errors.ts';
import { type KeyKind, KeyName, keyKinds, type Scope, scopes } from '../keys/schema.ts';
import { chooseScopes, issueKey, toRecord } from '../keys/service.ts';
import { listKeys, revokeKey } from '../keys/store.ts';
import { ownerName } from '../users/owner.ts';
import { UserName } from '../users/schema.ts';
import { hasOneUser } from '../users/store.ts';
import { compileCheck } from '../validation.ts';
import type { Command } from './command.ts';
import { commandLine, withDatabase } from './database.ts';
import { formatTable } from './table.ts';

const help = `Usage: parley keys create [--user NAME] [--kind session|bearer] [--name TEXT] [--scope SCOPE]… [--expires 30d]
       parley keys list [--json]
       parley keys revoke ID

Makes, lists and revokes credentials. A running service knows within a second.

create   Prints the new key, this once. The user is made where new (default: ${ownerName}).
         --kind     session (X-Session-API-Key, default) or bearer (reads the reduced settings only)
         --scope    may be given several times: all, or one of
                    ${scopes.join(', ')}
                    (default: all but keys:manage and admin)
         --expires  when it ends: a number and m, h or d, such as 12h or 30d (default: never)
list     Shows the newest 2,000 keys of all users, never the secret part.
revoke   Ends a key at once and for good.

Reads PARLEY_DATA_DIR or DATABASE_URL, as the service does.

Example: parley keys create --user ada --name laptop --expires 90d
`;

const secondUserNote =
  'Parley has a second user now, so that it no longer connects to private addresses such as 127.0.0.1 for webhooks and tool servers; start it with PARLEY_ALLOW_PRIVATE_ADDRESSES=1 where it should.\n';

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function expiresAt(text: string | undefined): number | null {
  if (text === undefined) return null;
  const [, count = '', unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  if (unitMs === undefined)
    throw new RefusalError('--expires must be a number and m, h or d, such as 12h or 30d.');
  return Date.now() + Number(count) * unitMs;
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

async function create(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      user: { type: 'string', default: ownerName },
      kind: { type: 'string', default: 'session' },
      name: { type: 'string', default: 'command line' },
      scope: { type: 'string', multiple: true },
      expires: { type: 'string' },
    },
  });
  checkWord('--user', UserName, values.user);
  checkWord('--name', KeyName, values.name);
  const kind: KeyKind = oneOf('--kind', keyKinds, values.kind);
  const asked = values.scope?.flatMap((scope): readonly Scope[] =>
    scope === 'all' ? scopes : [oneOf('--scope', scopes, scope)],
  );
  const grant = {
    kind,
    userName: values.user,
    name: values.name,
    scopes: chooseScopes(kind, asked && [...new Set(asked)]),
    expiresAt: expiresAt(values.expires),
    by: commandLine,
  };
  const { made, second } = await withDatabase(
    async (database) => {
      const alone = await database.run(hasOneUser, null);
      const key = await issueKey(database, grant);
      return { made: key, second: alone && !(await database.run(hasOneUser, null)) };
    },
    { mayCreate: true },
  );
  process.stdout.write(`${made.key}\n`);
  if (second) process.stderr.write(secondUserNote);
  process.stderr.write(
    `A ${made.kind} key for ${made.user}, id ${made.id}, ${made.scopes.join(' ')}. It is not shown again.\n`,
  );
  return 0;
}

async function list(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...argv], options: { json: { type: 'boolean', default: false } } });
  const records = (await withDatabase((database) => database.run(listKeys, {}))).map(toRecord);
  if (values.json) {
    process.stdout.write(`${JSON.stringify(records, null, 2)}\n`);
    return 0;
  }
  const day = (time: string | null) => time?.slice(0, 16).replace('T', ' ') ?? '-';
  const rows = records.map((r) => [
    r.id,
    r.user,
    r.kind,
    r.name,
    r.revoked_at === null ? day(r.expires_at) : 'revoked',
    day(r.last_used_at),
    r.scopes.join(' '),
  ]);
  process.stdout.write(formatTable(['ID', 'USER', 'KIND', 'NAME', 'EXPIRES', 'LAST USED', 'SCOPES'], rows));
  return 0;
}

async function revoke(argv: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...argv], allowPositionals: true });
  const [id, ...rest] = positionals;
  if (id === undefined || rest.length > 0)
    throw new RefusalError('Give the id of one key; "parley keys list" shows them.');
  const row = await withDatabase((database) => database.run(revokeKey, { id, by: commandLine }));
  if (row === undefined) throw new RefusalError('There is no key of that id; "parley keys list" shows them.');
  process.stderr.write(`Key ${row.id} of ${row.user} is revoked.\n`);
  return 0;
}

const actions: Readonly<Record<string, (argv: readonly string[]) => Promise<number>>> = {
  create,
  list,
  revoke,
};

async function run(argv: readonly string[]): Promise<number> {
  const [action = '', ...rest] = argv;
  const act = actions[action];
  if (act === undefined)
    throw new RefusalError('Say create, list or revoke; "parley keys --help" explains them.');
  return act(rest);
}

export const keys: Command = { help, run };
