// `parley keys create|list|revoke`.
import { RefusalError } from '../../errors.ts';
import { KeyName, type Scope, scopes } from '../../keys/schema.ts';
import { plainLine } from '../../text/plainText.ts';
import { UserName } from '../../users/schema.ts';
import { compileCheck } from '../../validation/validation.ts';
import { keyBackend } from '../backends/keys.ts';
import type { Handler } from '../command.ts';
import type { keysCreateCommand, keysListCommand, keysRevokeCommand } from '../declarations/services.ts';
import { exits } from '../exits.ts';
import { createOutput } from '../terminal/output.ts';
import { secondUserNote } from '../terminal/secondUser.ts';
import { printRecords, shortTime } from '../terminal/table.ts';

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function expiresAt(text: string | undefined): string | null {
  if (text === undefined) return null;
  const [, count = '', unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  if (unitMs === undefined)
    throw new RefusalError('--expires must be a number and m, h or d, such as 12h or 30d.');
  return new Date(Date.now() + Number(count) * unitMs).toISOString();
}

function checkValue(flag: string, schema: Parameters<typeof compileCheck>[0], value: string): void {
  const [fault] = compileCheck(schema)(value)?.details ?? [];
  if (fault !== undefined) throw new RefusalError(`${flag} ${fault.message}.`);
}

function chosenScopes(words: readonly string[]): { scopes?: Scope[] } {
  if (words.length === 0) return {};
  // The parser lets only scopes and "all" through.
  const chosen = words.flatMap((word): readonly Scope[] => (word === 'all' ? scopes : [word as Scope]));
  return { scopes: [...new Set(chosen)] };
}

export const createKey: Handler<typeof keysCreateCommand> = async ({ options }) => {
  const { user, name, kind, bearer } = options;
  if (bearer && kind === 'bearer')
    throw new RefusalError(
      '--bearer is for API keys: a bearer token is always sent as Authorization: Bearer.',
    );
  if (user !== undefined) checkValue('--user', UserName, user);
  checkValue('--name', KeyName, name);
  const { key: created, turnsOffPrivate } = await keyBackend().create({
    kind,
    name,
    bearer,
    ...chosenScopes(options.scope),
    expires_at: expiresAt(options.expires),
    ...(user === undefined ? {} : { user }),
  });
  process.stdout.write(`${plainLine(created.key)}\n`);
  if (turnsOffPrivate) process.stderr.write(secondUserNote);
  const what = created.kind === 'session' ? 'an API key' : 'a bearer token';
  const about = `This is ${what} for ${created.user}, with id ${created.id} and scopes ${created.scopes.join(' ')}.`;
  process.stderr.write(`${plainLine(about)} It is not shown again.\n`);
  return exits.done;
};

export const listKeys: Handler<typeof keysListCommand> = async ({ options }) => {
  const timeOf = (time: string | null) => (time === null ? '-' : shortTime(time));
  printRecords(createOutput(options), await keyBackend().list(), {
    headings: ['ID', 'USER', 'KIND', 'NAME', 'EXPIRES', 'LAST USED', 'SCOPES'],
    row: (key) => [
      key.id,
      key.user,
      key.bearer ? `${key.kind}, Bearer` : key.kind,
      key.name,
      key.revoked_at === null ? timeOf(key.expires_at) : 'revoked',
      timeOf(key.last_used_at),
      key.scopes.join(' '),
    ],
  });
  return exits.done;
};

export const revokeKey: Handler<typeof keysRevokeCommand> = async ({ args }) => {
  const revoked = await keyBackend().revoke(args.id);
  process.stderr.write(`${plainLine(`Key ${revoked.id} of ${revoked.user}`)} is revoked.\n`);
  return exits.done;
};
