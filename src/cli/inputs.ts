// What a person gives a command beside words: a message on standard input, images, files of tool servers.
import { readFileSync, statSync } from 'node:fs';
import type { McpConfig } from '../client/parley.ts';
import { RefusalError } from '../errors.ts';

const mib = 1_024 * 1_024;
/** With the others and in base64 it must fit into a body of 16 MiB. */
const imageBytesMax = 8 * mib;
const fileBytesMax = 8 * mib;

const beginnings: readonly (readonly [type: string, bytes: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8/],
  ['image/webp', /^RIFF.{4}WEBP/s],
];

function readBounded(file: string, bytesMax: number): Buffer {
  try {
    if (statSync(file).size > bytesMax)
      throw new RefusalError(`${file} is larger than ${bytesMax / mib} MiB.`);
    return readFileSync(file);
  } catch (error) {
    if (error instanceof RefusalError) throw error;
    throw new RefusalError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

/** A URL stays one; a file becomes a data URL. */
export function readImage(place: string): string {
  if (/^(https?:\/\/|data:image\/)/i.test(place)) return place;
  const bytes = readBounded(place, imageBytesMax);
  const head = bytes.toString('latin1', 0, 16);
  const [type] = beginnings.find(([, beginning]) => beginning.test(head)) ?? [];
  if (type === undefined)
    throw new RefusalError(`${place} is no image of a known kind: PNG, JPEG, GIF or WebP.`);
  return `data:${type};base64,${bytes.toString('base64')}`;
}

/** Tool servers in a file: `mcp_config` itself, or an object that holds it. The service checks the rest. */
export function readMcpFile(file: string): McpConfig {
  let read: unknown;
  try {
    read = JSON.parse(readBounded(file, fileBytesMax).toString('utf8'));
  } catch (error) {
    if (error instanceof RefusalError) throw error;
    throw new RefusalError(`${file} is not JSON.`);
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read))
    throw new RefusalError(`${file} must hold an object with sse_servers, stdio_servers or shttp_servers.`);
  return ('mcp_config' in read ? read['mcp_config'] : read) as McpConfig;
}

/** All of standard input, without the white space at its end. */
export async function readInput(): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of process.stdin) {
    bytes += piece.length;
    if (bytes > fileBytesMax)
      throw new RefusalError(`Standard input is larger than ${fileBytesMax / mib} MiB.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8').trimEnd();
}

/** The words of the command line, or standard input where there are none or "-" alone. */
export async function readMessage(words: readonly string[]): Promise<string> {
  const fromInput = words.length === 0 || (words.length === 1 && words[0] === '-');
  if (fromInput && process.stdin.isTTY)
    throw new RefusalError('Say what to do, or give it on standard input.');
  const text = fromInput ? await readInput() : words.join(' ');
  if (text.trim() === '') throw new RefusalError('The message is empty.');
  return text;
}
