// Input of a command besides its words: a message or a secret on standard input, images, and files with MCP servers.
import { readFileSync, statSync } from 'node:fs';
import type { McpConfig } from '../client/parley.ts';
import { RefusalError } from '../errors.ts';
import { ask } from './terminal/prompt.ts';

const mib = 1_024 * 1_024;
/** In base64 it must fit into a request body of 16 MiB, together with the rest. */
const imageBytesMax = 8 * mib;
const fileBytesMax = 8 * mib;

const signatures: readonly (readonly [type: string, bytes: RegExp])[] = [
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

/** Returns a URL as it is, and a file as a data URL. */
export function readImage(fileOrUrl: string): string {
  if (/^(https?:\/\/|data:image\/)/i.test(fileOrUrl)) return fileOrUrl;
  const bytes = readBounded(fileOrUrl, imageBytesMax);
  const head = bytes.toString('latin1', 0, 16);
  const [type] = signatures.find(([, signature]) => signature.test(head)) ?? [];
  if (type === undefined) throw new RefusalError(`${fileOrUrl} is not a PNG, JPEG, GIF or WebP image.`);
  return `data:${type};base64,${bytes.toString('base64')}`;
}

/** Reads MCP servers from a file with an `mcp_config`, or an object that contains one. The service checks the rest. */
export function readMcpFile(file: string): McpConfig {
  let read: unknown;
  try {
    read = JSON.parse(readBounded(file, fileBytesMax).toString('utf8'));
  } catch (error) {
    if (error instanceof RefusalError) throw error;
    throw new RefusalError(`${file} is not JSON.`);
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read))
    throw new RefusalError(
      `${file} must contain an object with sse_servers, stdio_servers or shttp_servers.`,
    );
  return ('mcp_config' in read ? read['mcp_config'] : read) as McpConfig;
}

/** Reads all of standard input, without white space at the end. */
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

/** Reads what was typed without showing it, or standard input if nobody can type. */
export async function readHidden(question: string): Promise<string> {
  return (process.stdin.isTTY ? await ask(`${question}: `, { hidden: true }) : await readInput()).trim();
}

/** Reads a secret. It is never an argument, because every user of the machine can see those. */
export async function readSecret(what: string, question = what): Promise<string> {
  const secret = await readHidden(question);
  if (secret === '') throw new RefusalError(`The ${what} is empty. Type it, or give it on standard input.`);
  return secret;
}

/** Returns the words of the command line, or standard input if there are none or only "-". */
export async function readMessage(words: readonly string[]): Promise<string> {
  const fromInput = words.length === 0 || (words.length === 1 && words[0] === '-');
  if (fromInput && process.stdin.isTTY)
    throw new RefusalError(
      'The message is missing. Write it after the options, or give it on standard input.',
    );
  const text = fromInput ? await readInput() : words.join(' ');
  if (text.trim() === '') throw new RefusalError('The message is empty.');
  return text;
}
