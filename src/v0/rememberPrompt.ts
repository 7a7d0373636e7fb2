// A prompt that asks an agent to remember a part of a conversation. V0 let a model write it; this one quotes the log.
import { AppError } from '../errors.ts';
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

interface LoggedEvent {
  readonly id: number;
}

function linesOf(events: readonly LoggedEvent[], max: number): string[] {
  const lines = events.flatMap((event) => toHistoryLine(JSON.stringify(event))?.text ?? []);
  return lines.slice(0, max).map((line) => line.slice(0, lineCharsMax).toWellFormed());
}

export function createRememberPrompt(events: Events) {
  async function read(
    principal: Principal,
    id: string,
    query: { readonly start_id?: string; readonly end_id?: string; readonly reverse?: 'true' },
  ): Promise<readonly LoggedEvent[]> {
    const page = await events.page(principal, id, { ...query, limit: String(eventsReadMax) });
    return (JSON.parse(page) as { readonly events: readonly LoggedEvent[] }).events;
  }

  /** Throws if there is no such conversation or event. */
  return async (principal: Principal, id: string, eventId: number): Promise<string> => {
    const later = await read(principal, id, { start_id: String(eventId) });
    if (later[0]?.id !== eventId) throw new AppError('not_found', 'This event does not exist.');
    const earlier =
      eventId === 0 ? [] : await read(principal, id, { end_id: String(eventId - 1), reverse: 'true' });
    const history = [...linesOf(earlier, linesBefore).reverse(), ...linesOf(later, linesAfter + 1)].join(
      '\n\n',
    );
    return [
      `Remember for later conversations what follows from this part of a conversation. Add it to the file in ${microagentsFolder} that fits best, or create one, in a few short sentences. Write down only what holds in general, such as how the project is built and tested and what the user prefers, and no details of this one task.`,
      `<history>\n${history}\n</history>`,
    ].join('\n\n');
  };
}
