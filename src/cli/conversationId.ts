// From what a person typed to the conversation that is meant: its id, or any beginning that no other has.
import { type ConversationInfo, type Parley, ParleyError } from '../client/parley.ts';
import { RefusalError } from '../errors.ts';
import { commandName } from '../process/program.ts';

const pageSize = 1_000;
const lookedAtMax = 10_000;
const shownMax = 5;

export const sayWhich = `Say which conversation; "${commandName} list" shows them.`;

async function listBeginning(parley: Parley, beginning: string): Promise<ConversationInfo[]> {
  const found: ConversationInfo[] = [];
  let left = lookedAtMax;
  for await (const info of parley.conversations.all({ limit: pageSize })) {
    if (info.conversation_id.startsWith(beginning)) found.push(info);
    left -= 1;
    if (left === 0) break;
  }
  return found;
}

/** Looks at the newest 10,000. Throws `not_found`, or a refusal where several could be meant. */
export async function getConversation(parley: Parley, typed: string | undefined): Promise<ConversationInfo> {
  if (typed === undefined || typed === '') throw new RefusalError(sayWhich);
  try {
    return await parley.conversations.get(typed);
  } catch (error) {
    if (!(error instanceof ParleyError && (error.code === 'not_found' || error.code === 'invalid')))
      throw error;
  }
  const [first, ...others] = await listBeginning(parley, typed);
  if (first === undefined)
    throw new ParleyError('not_found', `There is no such conversation; "${commandName} list" shows them.`);
  if (others.length === 0) return first;
  const ids = [first, ...others].slice(0, shownMax).map(({ conversation_id }) => conversation_id);
  throw new RefusalError(
    `${others.length + 1} conversations begin like this, such as ${ids.join(', ')}: say more of the id.`,
  );
}
