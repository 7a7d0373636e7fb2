// Creates conversations through the service, for measurements that need some.
import { postConversation, sendOnce } from './requests.ts';

const inFlight = 16;

/** Creates `count` conversations. Returns their ids. */
export async function createConversations(url: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  let begun = 0;
  async function repeat(): Promise<void> {
    while (begun++ < count) {
      const { body } = await sendOnce(url, postConversation);
      ids.push((JSON.parse(body) as { conversation_id: string }).conversation_id);
    }
  }
  await Promise.all(Array.from({ length: inFlight }, repeat));
  return ids;
}
