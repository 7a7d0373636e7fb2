// Encrypts what the supervisor sends. The container engine writes it to the log of the container, too, where nobody
// else should find what agents read and write.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-ctr';
const keyBytes = 32;
/** A key is used for one connection. */
const start = Buffer.alloc(16);

export function newKey(): string {
  return randomBytes(keyBytes).toString('base64');
}

/** Each call continues where the last one has ended. Throws if the key is not valid. */
export function createEncryption(key: string): (bytes: Buffer) => Buffer {
  const cipher = createCipheriv(algorithm, Buffer.from(key, 'base64'), start);
  return (bytes) => cipher.update(bytes);
}

export function createDecryption(key: string): (bytes: Buffer) => Buffer {
  const decipher = createDecipheriv(algorithm, Buffer.from(key, 'base64'), start);
  return (bytes) => decipher.update(bytes);
}
