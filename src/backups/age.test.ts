import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { RefusalError } from '../errors.ts';
import { decryptWithPassphrase, encryptWithPassphrase } from './age.ts';

const passphrase = 'correct horse battery';
const chunkBytes = 65_536;
/** Quick, and good enough for a test. */
const factor = 4;

async function* inPieces(bytes: Buffer, pieceBytes = 10_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

const encrypt = (bytes: Buffer) => buffer(encryptWithPassphrase(passphrase, inPieces(bytes), factor));
const decrypt = (bytes: Buffer, word = passphrase) =>
  buffer(decryptWithPassphrase(word, inPieces(bytes, 7_777)));

/** Created by the program `age` 1.1.1 with this passphrase. */
const madeByAge =
  'YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCB6NmdWb0Q1cjJRazk0WjZpTTFsUDV3IDE4CkhDbHlVdmx3bzBPM0lFQnFpbk9YMTFEVmZodE1hbFJFS3gwdHdYMDRSbjgKLS0tIHlVWm9paStZcldKM2NnQU9FazRHL1NJMEcrQTlBN3M0Q2pyZnUxRjZlUG8KwQipnyDeAPwHb9hOWbKXKb1ytIE1b7YySYAiyzwuQ6Yui9IyNjJs8A1oPG4=';

describe('encryption with a passphrase', () => {
  it('decrypts what the program age has encrypted', async () => {
    assert.equal((await decrypt(Buffer.from(madeByAge, 'base64'))).toString(), 'made by age\n');
  });

  it('returns the same bytes, whatever their number', async () => {
    for (const bytes of [0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3 * chunkBytes]) {
      const plain = randomBytes(bytes);
      const encrypted = await encrypt(plain);
      assert.ok(plain.equals(await decrypt(encrypted)), `${bytes} bytes`);
      assert.ok(bytes < 16 || !encrypted.includes(plain.subarray(0, 16)));
    }
  });

  it('refuses a wrong passphrase, and names it as a possible cause', async () => {
    const encrypted = await encrypt(Buffer.from('x'));
    await assert.rejects(decrypt(encrypted, 'another passphrase'), /passphrase is wrong/);
  });

  it('refuses a file in which any byte differs, or which is cut off anywhere', async () => {
    const encrypted = await encrypt(randomBytes(2 * chunkBytes));
    const places = [0, 30, 60, 90, 120, 150, 170, 190, 60_000, chunkBytes + 400, encrypted.length - 1];
    for (const place of places) {
      const changed = Buffer.from(encrypted);
      changed[place] = (changed[place] ?? 0) ^ 1;
      await assert.rejects(decrypt(changed), RefusalError, `byte ${place}`);
      await assert.rejects(decrypt(encrypted.subarray(0, place)), RefusalError, `cut at ${place}`);
    }
    // A whole number of chunks, so that only the mark of the last one tells.
    await assert.rejects(decrypt(encrypted.subarray(0, -(chunkBytes + 16))), RefusalError);
    await assert.rejects(decrypt(Buffer.concat([encrypted, Buffer.from('x')])), RefusalError);
  });

  it('refuses a file that would take too long to try', async () => {
    const text = Buffer.from(madeByAge, 'base64').toString('latin1').replace(' 18\n', ' 30\n');
    await assert.rejects(decrypt(Buffer.from(text, 'latin1')), /in a way that Parley does not know/);
  });
});
