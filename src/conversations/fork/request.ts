// Converts a valid request to what is stored: the event, the title, the choices and the first events of the fork.
import { AppError, invalid } from '../../errors.ts';
import { agentStateChanged, eventText, forked, loading, userMessage } from '../../events/shapes.ts';
import { stopReason } from '../states.ts';
import type { ForkConversation } from './schema.ts';
import type { ForkSource } from './source.ts';

/** Events that a fork can have of its source. */
const copiedEventsMax = 100_000;
const titleCharsMax = 200;
const titleEnd = ' (fork)';
const retryAfterS = 1;

/** What was asked for, in one form for the same request. */
export function fingerprintText(sourceId: string, body: ForkConversation): string {
  const { event_id, message, title, files, agent, llm_model, confirmation_mode } = body;
  const request = { event_id, message, title, files, agent, llm_model, confirmation_mode };
  return `fork\n${JSON.stringify([sourceId, request])}`;
}

export function titleOf({ title }: ForkSource): string {
  const chars = Array.from(title.endsWith(titleEnd) ? title.slice(0, -titleEnd.length) : title);
  return `${chars.slice(0, titleCharsMax - titleEnd.length).join('')}${titleEnd}`;
}

export function noSnapshot(message: string): AppError {
  return new AppError('no_snapshot', `${message} Choose other files with the field files: latest or none.`);
}

/** Throws `invalid` if the conversation has no such event, and `limit_reached` if there are too many before it. */
export function eventOf({ next_event: next }: ForkSource, { event_id: chosen }: ForkConversation): number {
  if (chosen != null && chosen >= next)
    throw invalid([{ path: 'event_id', message: 'must be the id of an event of the conversation' }]);
  const eventId = chosen ?? next - 1;
  if (eventId >= copiedEventsMax)
    throw new AppError('limit_reached', `A fork can have at most ${copiedEventsMax} events of its source.`, {
      details: [{ path: 'event_id', message: `must be below ${copiedEventsMax}` }],
    });
  return eventId;
}

/** Absent means that of the source, null or empty that of the settings. */
export function choiceOf(
  source: ForkSource,
  { agent, llm_model: model, confirmation_mode: mode }: ForkConversation,
) {
  return {
    agent: agent === undefined ? source.agent : agent || null,
    llmModel: model === undefined ? source.llm_model : model || null,
    confirmationMode: mode === undefined ? source.confirmation_mode : mode === null ? null : Number(mode),
  };
}

export function interrupted(): AppError {
  return new AppError('overloaded', 'The fork took too long and was given up; try again.', { retryAfterS });
}

/** The position of the message in the first events. */
export const messageIndex = 1;

/** What follows the copied events. */
export function firstEvents(source: ForkSource, eventId: number, message: string, at: string): string[] {
  const about = forked(source.id, eventId);
  const reason = stopReason('forked').message;
  const events =
    message === ''
      ? [about, agentStateChanged('stopped', reason)]
      : [about, userMessage(message, []), loading];
  return events.map((event) => eventText(event, at));
}
