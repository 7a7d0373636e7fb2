import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tokenize } from './tokenize.ts';
import { type CodeHint, segmentsByLine, segmentsOf } from './tokens.ts';

async function kindsOf(text: string, hint: NonNullable<CodeHint>): Promise<Record<string, string>> {
  const segments = segmentsOf(text, await tokenize(text, hint));
  assert.equal(segments.map((segment) => segment.text).join(''), text);
  return Object.fromEntries(segments.flatMap(({ text: part, kind }) => (kind ? [[part, kind]] : [])));
}

describe('the highlighter', () => {
  it('knows a language by its name, by an extension, and by the name of a file', async () => {
    const text = 'const port: number = 3000; // The default.';
    for (const hint of [{ language: 'ts' }, { language: 'TypeScript' }, { path: '/workspace/src/a.ts' }])
      assert.deepEqual(await kindsOf(text, hint), {
        const: 'keyword',
        number: 'type',
        '3000': 'number',
        '// The default.': 'comment',
      });
    assert.equal((await kindsOf('RUN npm ci', { path: 'Dockerfile' }))['RUN'], 'keyword');
    assert.equal((await kindsOf('echo "a"', { language: 'bash' }))['"a"'], 'string');
    assert.equal((await kindsOf('{"a": null}', { language: 'json' }))['null'], 'number');
  });

  it('leaves text of unknown languages plain', async () => {
    for (const hint of [{ language: 'plaintext' }, { language: '' }, { path: 'a' }, { language: 'a/../b' }])
      assert.deepEqual(await tokenize('const a = 1;', hint), []);
  });

  it('splits tokens that span lines', async () => {
    const text = '/* one\ntwo */ let a;\n';
    const lines = segmentsByLine(text, await tokenize(text, { language: 'js' }));
    assert.deepEqual(lines, [
      [{ text: '/* one', kind: 'comment' }],
      [
        { text: 'two */', kind: 'comment' },
        { text: ' ', kind: undefined },
        { text: 'let', kind: 'keyword' },
        { text: ' a;', kind: undefined },
      ],
      [],
    ]);
  });

  it('reads broken and nested code to its end', async () => {
    for (const text of ['('.repeat(9_999), `"${'\\'.repeat(9_999)}`])
      for (const language of ['js', 'html', 'bash'])
        assert.ok(Array.isArray(await tokenize(text, { language })));
  });
});
