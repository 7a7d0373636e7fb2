// An ACP extension that tells whether an interrupted prompt has reached the agent. Agents with a journal announce it in
// their capabilities, get the turn number with each prompt, and return the last one they recorded on resume.
import { isObject } from '../../text/foreignText.ts';

/**
 * The field in `_meta`. It is `true` in capabilities; elsewhere it is a turn number, or null if no turn was recorded
 * yet.
 */
export const turnMember = 'parley/turn';

export type NotedTurn = number | null | undefined;

export function notesTurns(capabilities: unknown): boolean {
  return (
    isObject(capabilities) && isObject(capabilities['_meta']) && capabilities['_meta'][turnMember] === true
  );
}

/** The turn number in a message; undefined if it has none. */
export function turnIn(message: unknown): NotedTurn {
  const meta = isObject(message) ? message['_meta'] : undefined;
  const turn = isObject(meta) ? meta[turnMember] : undefined;
  return turn === null || Number.isSafeInteger(turn) ? (turn as number | null) : undefined;
}

export function withTurn(turn: number | null): { readonly _meta: Record<string, unknown> } {
  return { _meta: { [turnMember]: turn } };
}
