// The version of the package, read from where it is declared.
import { readFileSync } from 'node:fs';
import { programFile } from './program.ts';

const packageFile = programFile('../package.json');

export const version = (JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }).version;
