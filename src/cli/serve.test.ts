// What an operator is shown at the start.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { App } from '../app.ts';
import { readConfig } from '../config.ts';
import { banner } from './serve.ts';

const app: App = {
  url: 'http://127.0.0.1:3000',
  ownerKey: undefined,
  databaseKind: 'sqlite',
  sandbox: 'Agents run in a sandbox.',
  stop: async () => {},
};
const config = readConfig({ PARLEY_DATA_DIR: '/tmp/parley-banner' });

describe('the banner', () => {
  it('has a link that signs in on the first start, and the bare address later', () => {
    const file = '/tmp/parley-banner/owner.key';
    const first = banner({ ...app, ownerKey: { made: 'pk_made', usable: true, file } }, config);
    assert.match(first, /^ {2}Open http:\/\/127\.0\.0\.1:3000\/#key=pk_made$/m);
    const later = banner({ ...app, ownerKey: { made: undefined, usable: true, file } }, config);
    assert.match(later, /^ {2}Open http:\/\/127\.0\.0\.1:3000\/$/m);
    assert.doesNotMatch(later, /pk_/);
  });

  it('names the public address where there is one', () => {
    const shown = banner(app, readConfig({ PARLEY_PUBLIC_URL: 'https://parley.example.com' }));
    assert.match(shown, /^ {2}Open https:\/\/parley\.example\.com\/$/m);
  });
});
