// JSON files of the operator. They are validated at startup; errors contain the file and the path, never the content.
import { readFileSync, statSync } from 'node:fs';
import type { Static, TSchema } from 'typebox';
import { RefusalError } from '../errors.ts';
import { mib } from './schema.ts';
import { compileCheck } from './validation.ts';

const fileBytesMax = mib;

/**
 * Returns undefined if the file does not exist. Throws RefusalError if it cannot be read; `what` describes its content.
 */
export function readOperatorFile(file: string, what: string): string | undefined {
  try {
    const found = statSync(file);
    // Reading a pipe would block, and a large file would fill the memory.
    if (!found.isFile()) throw new RefusalError(`The ${what} in ${file} cannot be read: it is not a file.`);
    if (found.size > fileBytesMax) throw new RefusalError(`${file} is larger than ${fileBytesMax} bytes.`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof RefusalError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new RefusalError(`The ${what} in ${file} cannot be read: ${(error as Error).message}.`);
  }
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const [place = ''] = / \(line \d+ column \d+\)/.exec((error as Error).message) ?? [];
    throw new RefusalError(`${file} is not JSON${place}.`);
  }
}

/** Parses and validates the text of the file. Throws RefusalError. */
export function parseOperatorFile<Schema extends TSchema>(
  text: string,
  file: string,
  schema: Schema,
): Static<Schema> {
  const json = parse(text, file);
  const [detail] = compileCheck(schema)(json)?.details ?? [];
  if (detail !== undefined)
    throw new RefusalError(`${file}: ${detail.path === 'body' ? 'it' : detail.path} ${detail.message}.`);
  return json as Static<Schema>;
}
