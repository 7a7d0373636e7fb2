import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { someTime as at, newConversation } from '../../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { createConversation } from '../../conversations/create/store.ts';
import type { DatabaseKind } from '../../db/transaction.ts';
import { eventText } from '../../events/shapes.ts';
import type { NewEvent } from '../../events/vocabulary/vocabulary.ts';
import { ensureUser } from '../../users/store.ts';
import { readHistory } from './history.ts';

const said = (source: 'user' | 'agent', content: string): NewEvent => ({
  source,
  message: '',
  action: 'message',
  args: { content, image_urls: [], file_urls: [], wait_for_response: false },
});
const ran = (command: string): NewEvent => ({
  source: 'agent',
  message: '',
  action: 'run',
  args: { command, thought: '' },
  tool_call_id: 'c1',
});
const gave = (content: string): NewEvent => ({
  source: 'agent',
  message: '',
  observation: 'run',
  content,
  extras: { command: '', metadata: { exit_code: 0 }, outcome: 'completed' },
  tool_call_id: 'c1',
});

/** The history of a log of these events, all of them heard. */
async function historyOf(t: TestContext, kind: DatabaseKind, events: readonly NewEvent[]) {
  const database = await openTestDatabase(kind, t);
  const { id: userId } = await database.run(ensureUser, 'ada');
  const texts = events.map((event) => eventText(event, at));
  const made = await database.run(createConversation, { ...newConversation(userId, 'a'), events: texts });
  assert.ok(made.outcome === 'created');
  const { length } = events;
  return readHistory({ database, key: made.key, heard: length, below: length });
}

for (const kind of databaseKinds)
  describe(`the history on ${kind}`, () => {
    it('contains messages and actions, oldest first', async (t) => {
      const events = [said('user', 'Mend it.'), ran('ls'), gave('a.ts'), said('agent', 'Done.')];
      assert.deepEqual(await historyOf(t, kind, events), {
        text: 'User: Mend it.\n\nYou ran: ls\nIt gave: a.ts\n\nYou: Done.',
        hasSteps: true,
      });
    });

    it('is empty if there was nothing', async (t) => {
      assert.deepEqual(await historyOf(t, kind, []), { text: '', hasSteps: false });
    });

    it('keeps the newest actions, and the messages before those that are left out', async (t) => {
      const steps = Array.from({ length: 200 }, (_, i) => ran(`step-${i} ${'x'.repeat(300)}`));
      const { text } = await historyOf(t, kind, [said('user', 'Mend it.'), ...steps]);
      assert.match(
        text,
        /^User: Mend it\.\n\n\(Steps before this one are left out\.\)\nYou ran: step-1\d\d /,
      );
      assert.match(text, /\nYou ran: step-199 x+$/);
      assert.ok(text.length < 21_000, String(text.length));
    });

    it('keeps the newest messages if there are too many', async (t) => {
      const events = Array.from({ length: 50 }, (_, i) => said('user', `${i} ${'x'.repeat(1_000)}`));
      const { text } = await historyOf(t, kind, events);
      assert.match(text, /^User: 1\d x/);
      assert.ok(text.includes('User: 49 x') && text.length < 41_000);
    });

    it('finds messages before very large actions', async (t) => {
      const large = Array.from({ length: 40 }, () => gave('y'.repeat(64_000)));
      const { text } = await historyOf(t, kind, [said('user', 'Mend it.'), ...large]);
      assert.match(text, /^User: Mend it\.\n\nIt gave: y+/);
    });
  });
