// `npm pack ./client`: makes the library out of src/client, as one file of JavaScript and the declarations beside it.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { writeWireTypes } from './writeTypes.ts';

const root = resolve(import.meta.dirname, '..');
const source = join(root, 'src/client');
const out = join(import.meta.dirname, 'lib');
const declared = mkdtempSync(join(tmpdir(), 'parley-client-'));

function declare(): void {
  const args = [
    join(root, 'node_modules/typescript/lib/tsc.js'),
    ...['--project', join(root, 'client/tsconfig.json'), '--outDir', declared],
  ];
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) throw new Error('the declarations cannot be made');
  for (const name of readdirSync(join(declared, 'client'))) copyDeclarations('client', name);
}

/** Copies the file, and what it names of the decoder, which depends on nothing else. */
function copyDeclarations(folder: string, name: string): void {
  const text = readFileSync(join(declared, folder, name), 'utf8');
  const copied = text.replace(
    /(from '|import\(")(\.\/|\.\.\/events\/decoder\/)(\w+)\.ts(?='|")/g,
    (_, before: string, from: string, file: string) => {
      if (from !== './') copyDeclarations(join(folder, from), `${file}.d.ts`);
      return `${before}./${file}.js`;
    },
  );
  writeFileSync(join(out, name), copied);
}

try {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out);
  await build({
    entryPoints: [join(source, 'parley.ts')],
    outdir: out,
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    logLevel: 'warning',
  });
  declare();
  writeFileSync(join(out, 'wire.d.ts'), await writeWireTypes(join(source, 'wire.ts')));
  cpSync(join(root, 'LICENSE'), join(out, 'LICENSE'));
} finally {
  rmSync(declared, { recursive: true, force: true });
}
