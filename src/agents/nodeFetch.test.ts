import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../test/support/sandboxes.ts';
import { settingsFolder } from './find.ts';
import { fillText } from './templates.ts';

/** Asks with a dispatcher that cannot be used, and says what came of it and what its own children are told. */
const program = `
const dispatcher = { dispatch() { throw new Error('used'); } };
const http = require('node:http').createServer((_, response) => response.end('asked')).listen(0, '127.0.0.1', async () => {
  const url = 'http://127.0.0.1:' + http.address().port;
  const answer = await fetch(url, { dispatcher }).then((answer) => answer.text(), (error) => error.cause.message);
  console.log(answer, process.env.NODE_OPTIONS);
  http.close();
});
`;

function run(options: string): string {
  const env = { NODE_OPTIONS: options };
  return execFileSync(process.execPath, ['--eval', program], { env, encoding: 'utf8' }).trim();
}

describe('the preloaded fetch', () => {
  it('ignores a given dispatcher wherever it is, and is not inherited', (t) => {
    assert.equal(run(''), 'used');
    const settings = join(temporaryFolder(t), 'a "b" c');
    cpSync(settingsFolder, settings, { recursive: true });
    const values = { model: '', token: '', base: '', origin: '', home: '', condense: '', settings };
    const options = fillText('--require={settings:quoted}/nodeFetch.cjs', values);
    assert.equal(run(options), 'asked undefined');
  });
});
