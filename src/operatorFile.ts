// Files of JSON that an operator writes: checked when the service starts, and refused with the name of the file and the
// place of the fault, never with what is there.
import { readFileSync } from 'node:fs';
import type { Static, TSchema } from 'typebox';
import { RefusalError } from './errors.ts';
import { mib } from './schema.ts';
import { compileCheck } from './validation.ts';

const fileBytesMax = mib;

/** Undefined where there is none. Throws RefusalError, in which `what` names its content, where it cannot be read. */
export function readOperatorFile(file: string, what: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
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

/** What the text of the file holds, as the schema says. Throws RefusalError. */
export function parseOperatorFile<Schema extends TSchema>(
  text: string,
  file: string,
  schema: Schema,
): Static<Schema> {
  if (Buffer.byteLength(text) > fileBytesMax)
    throw new RefusalError(`${file} is larger than ${fileBytesMax} bytes.`);
  const json = parse(text, file);
  const [detail] = compileCheck(schema)(json)?.details ?? [];
  if (detail !== undefined)
    throw new RefusalError(`${file}: ${detail.path === 'body' ? 'it' : detail.path} ${detail.message}.`);
  return json as Static<Schema>;
}
