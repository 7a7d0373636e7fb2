// Encrypts what the supervisor sends. The container engine writes it to the log of the container, too, where nobody
// else should find what agents read and write.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-ctr';
const keyBytes = 32;
const markBytes = 16;
const saltBytes = 16;
const preludeBytes = markBytes + saltBytes;
const start = Buffer.alloc(16);
const empty: Buffer = Buffer.alloc(0);

/** Each stream to a pod has a key of its own. */
export function newKey(): string {
  return randomBytes(keyBytes).toString('base64');
}

const derive = (key: string, from: string | Buffer) =>
  createHmac('sha256', Buffer.from(key, 'base64')).update(from).digest();

/** Where a stream begins. Who attaches to a container first gets a part of what was written for others. */
const markOf = (key: string) => derive(key, 'begin').subarray(0, markBytes);

interface Encryption {
  /** To be written first. */
  readonly prelude: Buffer;
  /** Each call continues where the last one has ended. */
  encrypt(bytes: Buffer): Buffer;
}

/** Even if a key is sent twice, the salt keeps two streams from being encrypted in the same way. */
export function createEncryption(key: string): Encryption {
  const salt = randomBytes(saltBytes);
  const cipher = createCipheriv(algorithm, derive(key, salt), start);
  return { prelude: Buffer.concat([markOf(key), salt]), encrypt: (bytes) => cipher.update(bytes) };
}

/** Returns a function that takes bytes as they come, and skips everything before the prelude. */
export function createDecryption(key: string): (bytes: Buffer) => Buffer {
  const mark = markOf(key);
  let skipped: Buffer = empty;
  let decrypt: ((bytes: Buffer) => Buffer) | undefined;
  return (bytes) => {
    if (decrypt !== undefined) return decrypt(bytes);
    skipped = Buffer.concat([skipped, bytes]);
    const at = skipped.indexOf(mark);
    skipped = skipped.subarray(at < 0 ? Math.max(0, skipped.length - markBytes + 1) : at);
    if (at < 0 || skipped.length < preludeBytes) return empty;
    const decipher = createDecipheriv(
      algorithm,
      derive(key, skipped.subarray(markBytes, preludeBytes)),
      start,
    );
    decrypt = (more) => decipher.update(more);
    return decrypt(skipped.subarray(preludeBytes));
  };
}
