// From what a person typed to the conversation that is meant: its id, or any beginning that no other has.
import { type ConversationInfo, type Parley, ParleyError } from '../client/parley.ts';
import { RefusalError } from '../errors.ts';

const pageSize = 1_000;
const pagesMax = 10;
const shownMax = 5;

async function listBeginning(parley: Parley, beginning: string): Promise<ConversationInfo[]> {
  const found: ConversationInfo[] = [];
  let page_id: string | null = null;
  for (let page = 0; page < pagesMax; page++) {
    const filter: { limit: number; page_id?: string } =
      page_id === null ? { limit: pageSize } : { limit: pageSize, page_id };
    const { results, next_page_id } = await parley.conversations.list(filter);
    found.push(...results.filter((info) => info.conversation_id.startsWith(beginning)));
    if (next_page_id === null) break;
    page_id = next_page_id;
  }
  return found;
}

/** Looks at the newest 10,000. Throws `not_found`, or a refusal where several could be meant. */
export async function getConversation(parley: Parley, typed: string | undefined): Promise<ConversationInfo> {
  if (typed === undefined || typed === '')
    throw new RefusalError('Say which conversation; "parley list" shows them.');
  try {
    return await parley.conversations.get(typed);
  } catch (error) {
    if (!(error instanceof ParleyError && (error.code === 'not_found' || error.code === 'invalid')))
      throw error;
  }
  const [first, ...others] = await listBeginning(parley, typed);
  if (first === undefined)
    throw new ParleyError('not_found', 'There is no such conversation; "parley list" shows them.');
  if (others.length === 0) return first;
  const ids = [first, ...others].slice(0, shownMax).map(({ conversation_id }) => conversation_id);
  throw new RefusalError(
    `${others.length + 1} conversations begin like this, such as ${ids.join(', ')}: say more of the id.`,
  );
}
