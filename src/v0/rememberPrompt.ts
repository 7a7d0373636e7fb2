// A prompt that asks an agent to remember a part of a conversation. V0 let a model write it; this one quotes the log.
import type { Events } from '../events/service.ts';
import type { Principal } from '../keys/principal.ts';
import { toHistoryLine } from '../runs/prompts/historyLines.ts';
import { microagentsFolder } from '../text/microagents.ts';

/** Messages and steps before and after the chosen event. */
const linesBefore = 4;
const linesAfter = 5;
/** Most events in between are no messages or steps. */
const eventsReadMax = 100;
const lineCharsMax = 4_000;

export function createRememberPrompt(events: Events) {
  async function linesOf(
    principal: Principal,
    id: string,
    query: { readonly start_id?: string; readonly end_id?: string; readonly reverse?: 'true' },
    max: number,
  ): Promise<string[]> {
    const page = JSON.parse(await events.page(principal, id, { ...query, limit: String(eventsReadMax) })) as {
      readonly events: readonly object[];
    };
    const lines = page.events.flatMap((event) => toHistoryLine(JSON.stringify(event))?.text ?? []);
    return lines.slice(0, max).map((line) => line.slice(0, lineCharsMax).toWellFormed());
  }

  /** Throws if there is no such conversation. */
  return async (principal: Principal, id: string, eventId: number): Promise<string> => {
    const earlier =
      eventId === 0
        ? []
        : await linesOf(principal, id, { end_id: String(eventId - 1), reverse: 'true' }, linesBefore);
    const later = await linesOf(principal, id, { start_id: String(eventId) }, linesAfter + 1);
    const history = [...earlier.reverse(), ...later].join('\n\n');
    return [
      `Remember for later conversations what follows from this part of a conversation. Add it to the file in ${microagentsFolder} that fits best, or create one, in a few short sentences. Write down only what holds in general, such as how the project is built and tested and what the user prefers, and no details of this one task.`,
      `<history>\n${history}\n</history>`,
    ].join('\n\n');
  };
}
