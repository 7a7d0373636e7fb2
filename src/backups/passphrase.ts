// The passphrase of backups comes from a file or the environment, never from the command line, which others can see.
import { readFileSync, statSync } from 'node:fs';
import type { Config } from '../config.ts';
import { RefusalError } from '../errors.ts';

const passphraseCharsMin = 8;
const fileBytesMax = 65_536;

function readLine(file: string): string {
  try {
    if (statSync(file).size > fileBytesMax) throw new RefusalError(`${file} is too large for a passphrase.`);
    return readFileSync(file, 'utf8').split(/\r?\n/, 1)[0] ?? '';
  } catch (error) {
    if (error instanceof RefusalError) throw error;
    throw new RefusalError(
      `The passphrase in ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}.`,
    );
  }
}

/** Undefined if there is none. `file` overrides the options of the service. */
export function readPassphrase(
  { backupPassphraseFile, backupPassphrase }: Pick<Config, 'backupPassphraseFile' | 'backupPassphrase'>,
  file: string | undefined = backupPassphraseFile,
): string | undefined {
  const passphrase = file === undefined ? backupPassphrase : readLine(file);
  if (passphrase !== undefined && passphrase.length < passphraseCharsMin)
    throw new RefusalError(`The passphrase must have at least ${passphraseCharsMin} characters.`);
  return passphrase;
}
