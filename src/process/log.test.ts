import assert from 'node:assert/strict';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createLogger } from './log.ts';

function logged(write: (logger: ReturnType<typeof createLogger>) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-log-'));
  const file = join(folder, 'log');
  const config = {
    logLevel: 'info' as const,
    sessionApiKey: 'preset"key\\with-odd-signs',
    authToken: 'preset-token',
    secretKeys: [Buffer.alloc(32, 1)],
  };
  write(createLogger(config, openSync(file, 'a')));
  const text = readFileSync(file, 'utf8');
  rmSync(folder, { recursive: true });
  return text;
}

describe('the log', () => {
  it('removes credentials anywhere in a line', () => {
    const key = `pk_${'0'.repeat(16)}_${'A'.repeat(43)}`;
    const webhookSecret = `whsec_${Buffer.alloc(32, 251).toString('base64')}`;
    const text = logged((logger) => {
      logger.info({ deep: { key } }, `saw ${key} and preset-token`);
      logger.info({ webhookSecret }, 'x');
      logger.error({ err: new Error('refused preset"key\\with-odd-signs') }, 'x');
      logger.error(
        { err: new Error(`connect postgres://user:hunter2@db.example/x ${'01'.repeat(32)}`) },
        'x',
      );
    });
    assert.equal(text.trim().split('\n').length, 4);
    for (const secret of [key, webhookSecret, 'preset-token', 'odd-signs', 'hunter2', '01'.repeat(32)])
      assert.ok(!text.includes(secret), text);
    for (const line of text.trim().split('\n')) JSON.parse(line);
  });

  it('keeps of an error its type, message, code, stack and causes, and nothing else', () => {
    const error = Object.assign(new Error('outer', { cause: new Error('inner') }), {
      code: '23505',
      detail: 'Key (id)=(private) already exists',
    });
    const [line = ''] = logged((logger) => logger.error({ err: error }, 'x')).split('\n');
    const { err } = JSON.parse(line);
    assert.deepEqual(Object.keys(err), ['type', 'message', 'code', 'stack', 'cause']);
    assert.equal(err.cause.message, 'inner');
    assert.ok(!line.includes('private'));
  });
});
