// An ACP extension that shows whether an interrupted prompt has reached the agent. Agents with a journal announce it in
// their capabilities, get the turn number with each prompt, and return the last recorded one on resume.
import { isObject } from '../../text/foreignText.ts';

/**
 * The field in `_meta`. It is `true` in capabilities; elsewhere it is a turn number, or null if no turn was recorded
 * yet.
 */
export const turnField = 'parley/turn';

export type RecordedTurn = number | null | undefined;

export function recordsTurns(capabilities: unknown): boolean {
  return (
    isObject(capabilities) && isObject(capabilities['_meta']) && capabilities['_meta'][turnField] === true
  );
}

/** The turn number in a message; undefined if it has none. */
export function turnIn(message: unknown): RecordedTurn {
  const meta = isObject(message) ? message['_meta'] : undefined;
  const turn = isObject(meta) ? meta[turnField] : undefined;
  return turn === null || Number.isSafeInteger(turn) ? (turn as number | null) : undefined;
}

export function withTurn(turn: number | null): { readonly _meta: Record<string, unknown> } {
  return { _meta: { [turnField]: turn } };
}
