// An extension of ACP, shared by the runtime and the built-in agent. An agent that writes each prompt to a journal says
// so in its capabilities; then each prompt carries the number of its turn, and whoever resumes a session is told which
// turn the journal noted last. So the service knows whether a prompt that was cut off has reached the agent.

/** In `_meta`: `true` in the capabilities, the number of a turn elsewhere, null where no turn was noted yet. */
export const turnMember = 'parley/turn';

export type NotedTurn = number | null | undefined;

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;

export function notesTurns(capabilities: unknown): boolean {
  return (
    isObject(capabilities) && isObject(capabilities['_meta']) && capabilities['_meta'][turnMember] === true
  );
}

/** Undefined where the message says nothing of it. */
export function turnIn(message: unknown): NotedTurn {
  const meta = isObject(message) ? message['_meta'] : undefined;
  const turn = isObject(meta) ? meta[turnMember] : undefined;
  return turn === null || Number.isSafeInteger(turn) ? (turn as number | null) : undefined;
}

export function withTurn(turn: number | null): { readonly _meta: Record<string, unknown> } {
  return { _meta: { [turnMember]: turn } };
}
