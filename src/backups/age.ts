// Encrypts a stream with a passphrase in the format of age (age-encryption.org/v1), so that the `age` program can decrypt a
// backup, too. Only passphrases are supported: one stanza of the type `scrypt`.
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto';
import { RefusalError } from '../errors.ts';
import { createByteReader, TruncatedError } from './byteReader.ts';

const versionLine = 'age-encryption.org/v1';
const algorithm = 'chacha20-poly1305';
const fileKeyBytes = 16;
const saltBytes = 16;
const payloadNonceBytes = 16;
const tagBytes = 16;
const chunkBytes = 65_536;
/** scrypt takes 128 MiB with this work factor. */
const workFactor = 17;
/** A hostile file must not make us compute for minutes: this takes 1 GiB. */
const workFactorMax = 20;
const scryptBlockSize = 8;
const lineBytesMax = 128;

export const ageMagic: Buffer = Buffer.from(`${versionLine}\n`);

/** Base64 without padding, as age writes it. */
const encode = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

function deriveKey(secret: Buffer, salt: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, purpose, 32));
}

function deriveWrapKey(passphrase: string, salt: Buffer, factor: number): Promise<Buffer> {
  const labelled = Buffer.concat([Buffer.from(`${versionLine}/scrypt`), salt]);
  const N = 2 ** factor;
  const options = { N, r: scryptBlockSize, p: 1, maxmem: 256 * N * scryptBlockSize };
  return new Promise((resolve, reject) => {
    scrypt(passphrase, labelled, 32, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}

function seal(key: Buffer, nonce: Buffer, plain: Buffer): Buffer {
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Throws if the bytes were not sealed with this key and nonce. */
function unseal(key: Buffer, nonce: Buffer, sealed: Buffer): Buffer {
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  return Buffer.concat([decipher.update(sealed.subarray(0, -tagBytes)), decipher.final()]);
}

const zeroNonce = Buffer.alloc(12);

/** The number of the chunk, and whether it is the last one. */
function chunkNonce(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(index, 5, 6);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

/** The header without its MAC, up to and including `---`. */
function headerText(salt: Buffer, factor: number, wrapped: Buffer): string {
  return `${versionLine}\n-> scrypt ${encode(salt)} ${factor}\n${encode(wrapped)}\n---`;
}

function headerMac(fileKey: Buffer, header: string): Buffer {
  return createHmac('sha256', deriveKey(fileKey, Buffer.alloc(0), 'header'))
    .update(header)
    .digest();
}

/** Tests use a smaller work factor, because this one takes most of a second. */
export async function* encryptWithPassphrase(
  passphrase: string,
  stream: AsyncIterable<Buffer>,
  factor = workFactor,
): AsyncGenerator<Buffer> {
  const [fileKey, salt, nonce] = [fileKeyBytes, saltBytes, payloadNonceBytes].map((n) => randomBytes(n)) as [
    Buffer,
    Buffer,
    Buffer,
  ];
  const wrapped = seal(await deriveWrapKey(passphrase, salt, factor), zeroNonce, fileKey);
  const header = headerText(salt, factor, wrapped);
  yield Buffer.from(`${header} ${encode(headerMac(fileKey, header))}\n`);
  yield nonce;
  const key = deriveKey(fileKey, nonce, 'payload');
  const reader = createByteReader(stream);
  let chunk = await takeChunk(reader, chunkBytes);
  for (let index = 0; ; index++) {
    const next = chunk.length < chunkBytes ? Buffer.alloc(0) : await takeChunk(reader, chunkBytes);
    const isLast = next.length === 0;
    yield seal(key, chunkNonce(index, isLast), chunk);
    if (isLast) return;
    chunk = next;
  }
}

/** As many bytes as there are, up to `bytes`. */
async function takeChunk(reader: ReturnType<typeof createByteReader>, bytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let left = bytes; left > 0; ) {
    const part = await reader.takeSome(left);
    if (part.length === 0) break;
    parts.push(part);
    left -= part.length;
  }
  return Buffer.concat(parts);
}

async function takeLine(reader: ReturnType<typeof createByteReader>): Promise<string> {
  let line = '';
  while (line.length <= lineBytesMax) {
    const byte = (await reader.take(1)).toString('latin1');
    if (byte === '\n') return line;
    line += byte;
  }
  throw unknownHeader();
}

const unknownHeader = () =>
  new RefusalError(
    'The file is encrypted in a way that Parley does not know: it must be age with a passphrase.',
  );
const wrongPassphrase = () =>
  new RefusalError('The file cannot be decrypted: the passphrase is wrong, or the file is damaged.');
const damaged = () => new RefusalError('The encrypted file is damaged or was changed.');

async function openHeader(passphrase: string, reader: ReturnType<typeof createByteReader>): Promise<Buffer> {
  const lines = [
    await takeLine(reader),
    await takeLine(reader),
    await takeLine(reader),
    await takeLine(reader),
  ];
  const [, stanza = '', body = '', end = ''] = lines;
  const [, saltText = '', factorText = ''] = /^-> scrypt ([\w+/]{22}) ([1-9]\d?)$/.exec(stanza) ?? [];
  const [, macText = ''] = /^--- ([\w+/]{43})$/.exec(end) ?? [];
  if (lines[0] !== versionLine || saltText === '' || macText === '' || !/^[\w+/]{43}$/.test(body))
    throw unknownHeader();
  const factor = Number(factorText);
  if (factor > workFactorMax) throw unknownHeader();
  const [salt, wrapped] = [Buffer.from(saltText, 'base64'), Buffer.from(body, 'base64')];
  const wrapKey = await deriveWrapKey(passphrase, salt, factor);
  let fileKey: Buffer;
  try {
    fileKey = unseal(wrapKey, zeroNonce, wrapped);
  } catch {
    throw wrongPassphrase();
  }
  const mac = headerMac(fileKey, headerText(salt, factor, wrapped));
  if (!timingSafeEqual(mac, Buffer.from(macText, 'base64'))) throw damaged();
  return fileKey;
}

/** Throws a RefusalError if the passphrase is wrong, or if the file was changed or cut off. */
export async function* decryptWithPassphrase(
  passphrase: string,
  stream: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const reader = createByteReader(stream);
  try {
    const fileKey = await openHeader(passphrase, reader);
    const key = deriveKey(fileKey, await reader.take(payloadNonceBytes), 'payload');
    let sealed = await takeChunk(reader, chunkBytes + tagBytes);
    for (let index = 0; ; index++) {
      const next =
        sealed.length < chunkBytes + tagBytes
          ? Buffer.alloc(0)
          : await takeChunk(reader, chunkBytes + tagBytes);
      const isLast = next.length === 0;
      yield openChunk(key, chunkNonce(index, isLast), sealed);
      if (isLast) return;
      sealed = next;
    }
  } catch (error) {
    throw error instanceof TruncatedError ? damaged() : error;
  }
}

function openChunk(key: Buffer, nonce: Buffer, sealed: Buffer): Buffer {
  if (sealed.length < tagBytes) throw damaged();
  try {
    return unseal(key, nonce, sealed);
  } catch {
    throw damaged();
  }
}
