import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createStorage } from '../../test/support/databases.ts';
import { temporaryFolder } from '../../test/support/sandboxes.ts';
import { startService } from '../../test/support/service.ts';
import { RefusalError } from '../errors.ts';
import { findPrice } from '../gateway/usage/prices.ts';
import { programFile } from '../process/program.ts';
import { loadModels } from './catalogue.ts';

const known = 'openai/gpt-4o';
const mine = { input: 2, output: 4 };
const day = '2026-06-01';

function operatorFile(t: TestContext, content: unknown): string {
  const file = join(temporaryFolder(t), 'prices.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

describe("an operator's file of prices", () => {
  it('adds models and replaces the prices of ours, and keeps the limits that it does not name', (t) => {
    const shipped = loadModels().find(known);
    const file = operatorFile(t, { models: { 'mine/large': mine, [known]: { ...mine, images: false } } });
    const models = loadModels(file);
    assert.deepEqual(models.find('mine/large'), mine);
    assert.deepEqual(models.find(known), {
      ...mine,
      context: shipped?.context,
      max_output: shipped?.max_output,
      images: false,
    });
    assert.equal(models.list().length, loadModels().list().length + 1);
    assert.ok(models.names(day).includes('mine/large'));
  });

  it('can make a model free, and offer a retired one again', (t) => {
    const old = 'anthropic/claude-3-opus-20240229';
    const models = loadModels(operatorFile(t, { models: { [old]: { input: 0, output: 0 } } }));
    const tokens = { input: 1e6, output: 1e6, cacheRead: 1e6, cacheWrite: 1e6 };
    assert.equal(findPrice(models, old, false).costOf(tokens), 0);
    assert.ok(findPrice(loadModels(), old, false).costOf(tokens) > 0);
    assert.ok(models.names(day).includes(old) && !loadModels().names(day).includes(old));
  });

  it('need not exist', () => {
    assert.deepEqual(loadModels('/nonexistent/prices.json').list(), loadModels().list());
  });

  it('may be a copy of ours', (t) => {
    const ours = loadModels();
    const models = loadModels(operatorFile(t, readFileSync(programFile('models/models.json'), 'utf8')));
    assert.deepEqual(models.find(known), ours.find(known));
    assert.deepEqual(models.list(), ours.list());
  });

  it('is refused with its name and the path of the error, and never with the value', (t) => {
    const priced = (change: object) => ({ models: { 'a/b': { ...mine, ...change } } });
    const faults: [unknown, RegExp][] = [
      [{}, /models is required/],
      [[], /it must be an object/],
      [{ models: {}, secret: 1 }, /secret is not a known field/],
      [{ models: { 'a/b': { input: 1 } } }, /models\.a\/b\.output is required/],
      [{ models: { 'with space': mine } }, /models\.with space/],
      [priced({ input: -1 }), /models\.a\/b\.input must be at least 0/],
      [priced({ output: 'hunter2' }), /models\.a\/b\.output must be a number/],
      [`{"models":{"a/b":{"input":1e999,"output":1}}}`, /models\.a\/b\.input must be/],
      [priced({ context: 0.5 }), /models\.a\/b\.context must be a whole number/],
      [priced({ until: 'hunter2' }), /models\.a\/b\.until must match/],
      ['{\n "hunter2" }', /is not JSON \(line 2 column 12\)/],
    ];
    for (const [content, expected] of faults) {
      const file = operatorFile(t, content);
      assert.throws(
        () => loadModels(file),
        (error: Error) =>
          error instanceof RefusalError &&
          error.message.startsWith(file) &&
          expected.test(error.message) &&
          !error.message.includes('hunter2'),
        String(expected),
      );
    }
  });

  it('is read at startup, which refuses an invalid one, and its models are offered', async (t) => {
    const storage = await createStorage('sqlite');
    t.after(() => storage.remove());
    const file = join(storage.dataDir, 'prices.json');
    writeFileSync(file, '{"models":{"mine/large":{"input":-1,"output":0}}}');
    await assert.rejects(startService({ storage }), (error: Error) => {
      return error instanceof RefusalError && error.message.startsWith(file);
    });
    writeFileSync(file, JSON.stringify({ models: { 'mine/large': mine } }));
    const service = await startService({ storage }, t);
    assert.ok((await service.ask('/api/options/models')).body.includes('mine/large'));
  });
});
