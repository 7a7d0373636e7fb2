// `parley version`.
import { version } from '../../process/version.ts';
import type { Handler } from '../command.ts';
import type { versionCommand } from '../declarations/machine.ts';
import { exits } from '../exits.ts';

export const printVersion: Handler<typeof versionCommand> = async () => {
  process.stdout.write(`${version}\n`);
  return exits.done;
};
