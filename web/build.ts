// Builds the web UI, and compresses its files in advance, so that the service need not.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const compressed = /\.(js|css|html|svg)$/;
const root = fileURLToPath(new URL('.', import.meta.url));

async function importVite() {
  try {
    return await import('vite');
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return undefined;
  }
}

async function compress(file: string): Promise<void> {
  const bytes = readFileSync(file);
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  const [brotli, gzipped] = await Promise.all([
    promisify(brotliCompress)(bytes, { params }),
    promisify(gzip)(bytes, { level: 9 }),
  ]);
  writeFileSync(`${file}.br`, brotli);
  writeFileSync(`${file}.gz`, gzipped);
}

/** Writes the web UI to `outDir`, which is emptied first. Returns false if Vite is not installed. */
export async function buildPage(outDir: string): Promise<boolean> {
  const vite = await importVite();
  if (vite === undefined) return false;
  await vite.build({
    root,
    configFile: join(root, 'vite.config.ts'),
    logLevel: 'warn',
    build: { outDir, emptyOutDir: true },
  });
  const files = readdirSync(outDir, { recursive: true, encoding: 'utf8' });
  await Promise.all(
    files.filter((name) => compressed.test(name)).map((name) => compress(join(outDir, name))),
  );
  return true;
}
