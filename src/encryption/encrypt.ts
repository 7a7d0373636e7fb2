// Encrypts values with AES-256-GCM. The text contains the id of its key, for rotation. Its owner is authenticated, so
// that a text that was moved to another row cannot be decrypted.
import { createCipheriv, createDecipheriv, createHmac, hash, hkdfSync, randomBytes } from 'node:crypto';

const version = 'v1';
const nonceBytes = 12;
const tagBytes = 16;
export const blobKeyBytes = 32;

export interface Cipher {
  readonly keyId: string;
  encrypt(value: string, owner: readonly string[]): string;
  /** Throws if the key, the owner or a single bit differs. */
  decrypt(encrypted: string, owner: readonly string[]): string;
}

export class DecryptionError extends Error {}

/** The id of the key that encrypted the text; empty if the text is damaged. */
export function keyIdOf(encrypted: string): string {
  return encrypted.split('.', 2)[1] ?? '';
}

export function encryptionKeyId(key: Buffer): string {
  return hash('sha256', Buffer.concat([Buffer.from('parley key id\0'), key]), 'hex').slice(0, 16);
}

/** The nonce, the encrypted bytes and the tag. */
function encryptBytes(key: Buffer, value: Buffer, owner: readonly string[]): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(JSON.stringify(owner)));
  return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]);
}

function decryptBytes(key: Buffer, bytes: Buffer, owner: readonly string[]): Buffer {
  if (bytes.length < nonceBytes + tagBytes) throw new DecryptionError('the encrypted text is truncated');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(Buffer.from(JSON.stringify(owner)));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    const opened = decipher.update(bytes.subarray(nonceBytes, -tagBytes));
    return Buffer.concat([opened, decipher.final()]);
  } catch {
    throw new DecryptionError('the encrypted text was changed or belongs to another record');
  }
}

export function createCipher(key: Buffer): Cipher {
  const keyId = encryptionKeyId(key);
  return {
    keyId,
    encrypt: (value, owner) =>
      `${version}.${keyId}.${encryptBytes(key, Buffer.from(value), owner).toString('base64url')}`,
    decrypt: (text, owner) => {
      const [foundVersion, foundKeyId, body = '', ...rest] = text.split('.');
      if (foundVersion !== version || rest.length > 0)
        throw new DecryptionError('the encrypted text is damaged');
      if (foundKeyId !== keyId) throw new DecryptionError('it was encrypted with another key');
      return decryptBytes(key, Buffer.from(body, 'base64url'), owner).toString('utf8');
    },
  };
}

/** Encrypts files that are stored elsewhere, with a key that is itself stored encrypted. */
export interface BlobCipher {
  encrypt(bytes: Buffer, owner: readonly string[]): Buffer;
  /** Throws DecryptionError if the key, the owner or a single bit differs. */
  decrypt(bytes: Buffer, owner: readonly string[]): Buffer;
  /** Equal for equal bytes under this key, and meaningless without it. */
  digest(bytes: Buffer): string;
}

export function createBlobCipher(key: Buffer): BlobCipher {
  const derive = (purpose: string) =>
    Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), `parley blobs ${purpose}`, blobKeyBytes));
  const [encryption, digests] = [derive('encryption'), derive('digests')];
  return {
    encrypt: (bytes, owner) => encryptBytes(encryption, bytes, owner),
    decrypt: (bytes, owner) => decryptBytes(encryption, bytes, owner),
    digest: (bytes) => createHmac('sha256', digests).update(bytes).digest('base64url'),
  };
}
