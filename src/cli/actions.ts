// Commands of several actions: the first word says which.
import { RefusalError } from '../errors.ts';
import { commandName } from '../process/program.ts';

/** Throws where the word names none of them. */
export function chooseAction<Action>(
  command: string,
  actions: Readonly<Record<string, Action>>,
  word = '',
): Action {
  const action = Object.hasOwn(actions, word) ? actions[word] : undefined;
  if (action !== undefined) return action;
  const names = Object.keys(actions);
  const list = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
  throw new RefusalError(`Say ${list}; "${commandName} ${command} --help" explains them.`);
}
