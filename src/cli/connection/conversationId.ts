// Finds the conversation that a person means by its id, or by the start of it if no other id starts the same.
import { type ConversationInfo, type Parley, ParleyError } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';

const pageSize = 1_000;
const searchedMax = 10_000;
const shownMax = 5;

async function listByPrefix(parley: Parley, prefix: string): Promise<ConversationInfo[]> {
  const found: ConversationInfo[] = [];
  let left = searchedMax;
  for await (const info of parley.conversations.all({ limit: pageSize })) {
    if (info.conversation_id.startsWith(prefix)) found.push(info);
    left -= 1;
    if (left === 0) break;
  }
  return found;
}

/** Searches the newest 10,000. Throws `not_found`, or a usage error if several conversations match. */
export async function getConversation(parley: Parley, typed: string): Promise<ConversationInfo> {
  if (typed === '')
    throw new RefusalError(`The id of the conversation is empty; "${commandName} list" shows the ids.`);
  try {
    return await parley.conversations.get(typed);
  } catch (error) {
    if (!(error instanceof ParleyError && (error.code === 'not_found' || error.code === 'invalid')))
      throw error;
  }
  const found = await listByPrefix(parley, typed);
  const [first] = found;
  if (first === undefined)
    throw new ParleyError('not_found', `There is no such conversation; "${commandName} list" shows them.`);
  if (found.length === 1) return first;
  const ids = found.slice(0, shownMax).map(({ conversation_id }) => conversation_id);
  throw new RefusalError(
    `${found.length} ids start with these characters, such as ${ids.join(', ')}. Type more of the id.`,
  );
}

const shortCharsMin = 8;

/** The start of each id, as short as it can be without being the start of another one in the list. */
export function shortIds(ids: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    ids.map((id) => {
      let chars = shortCharsMin;
      while (chars < id.length && ids.some((other) => other !== id && other.startsWith(id.slice(0, chars))))
        chars += 1;
      return [id, id.slice(0, chars)];
    }),
  );
}
