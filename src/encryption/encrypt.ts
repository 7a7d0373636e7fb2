// Seals values with AES-256-GCM. The key's id is in the text, for rotation; what the value belongs to is
// authenticated with it, so that a encrypted text that was moved to another row does not open.
import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';

const version = 'v1';
const nonceBytes = 12;
const tagBytes = 16;

export interface Cipher {
  readonly keyId: string;
  seal(value: string, owner: readonly string[]): string;
  /** Throws where the key, the owner or a single bit is not the one it was encrypted with. */
  open(sealed: string, owner: readonly string[]): string;
}

export class DecryptionError extends Error {}

/** The id of the key that a text was encrypted with; empty where the text is damaged. */
export function encryptedKeyId(sealed: string): string {
  return sealed.split('.', 2)[1] ?? '';
}

export function encryptionKeyId(key: Buffer): string {
  return hash('sha256', Buffer.concat([Buffer.from('parley key id\0'), key]), 'hex').slice(0, 16);
}

export function createCipher(key: Buffer): Cipher {
  const keyId = encryptionKeyId(key);
  return {
    keyId,
    seal: (value, owner) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
      cipher.setAAD(Buffer.from(JSON.stringify(owner)));
      const sealed = Buffer.concat([
        nonce,
        cipher.update(value, 'utf8'),
        cipher.final(),
        cipher.getAuthTag(),
      ]);
      return `${version}.${keyId}.${sealed.toString('base64url')}`;
    },
    open: (text, owner) => {
      const [foundVersion, foundKeyId, body = '', ...rest] = text.split('.');
      if (foundVersion !== version || rest.length > 0)
        throw new DecryptionError('the encrypted text is damaged');
      if (foundKeyId !== keyId) throw new DecryptionError('it was encrypted with another key');
      const bytes = Buffer.from(body, 'base64url');
      if (bytes.length < nonceBytes + tagBytes) throw new DecryptionError('the encrypted text is truncated');
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      });
      decipher.setAAD(Buffer.from(JSON.stringify(owner)));
      decipher.setAuthTag(bytes.subarray(-tagBytes));
      try {
        const opened = decipher.update(bytes.subarray(nonceBytes, -tagBytes));
        return Buffer.concat([opened, decipher.final()]).toString('utf8');
      } catch {
        throw new DecryptionError('the encrypted text was changed or belongs to another record');
      }
    },
  };
}
