// The size of the built web UI.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { projectDir } from '../support/program.ts';

const firstLoadBytesMax = 250_000;
const folder = join(projectDir, 'dist/web');

describe('the built web UI', () => {
  const index = readFileSync(join(folder, 'index.html'), 'utf8');
  const files = [...index.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map(([, name = '']) => name);

  it('loads little on the first visit', () => {
    assert.ok(files.length >= 3, index);
    const bytes = ['index.html', ...files].map((name) => statSync(join(folder, `${name}.br`)).size);
    const sum = bytes.reduce((a, b) => a + b);
    assert.ok(sum <= firstLoadBytesMax, `${sum} bytes`);
  });

  it('loads languages for highlighting later, from files that do not change with the rest of the web UI', () => {
    const scripts = readdirSync(join(folder, 'assets')).filter((name) => name.endsWith('.js'));
    const later = scripts.filter((name) => !files.includes(`assets/${name}`));
    assert.ok(later.length > 20, `${later.length} files`);
    const importsEntry = /(?:from|import)\s*\(?"\.\/index-/;
    for (const name of later)
      assert.doesNotMatch(readFileSync(join(folder, 'assets', name), 'utf8'), importsEntry, name);
  });

  it('has nothing inline, and names no other host', () => {
    assert.doesNotMatch(index, /<style|<script(?![^>]*src=)|style=|\son\w+=|https?:/);
  });
});
