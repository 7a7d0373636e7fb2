// Finds the `cause` of observations: the id of the action that began the same tool call.
import type { EventText } from '../events/store.ts';

/** An event that is to be recorded. */
export interface Entry {
  readonly text: string;
  /** The tool call that it begins or ends. */
  readonly call?: { readonly id: string; readonly begins: boolean };
}

/** Of tool calls whose action is remembered; an agent has far fewer open at a time. */
const callsMax = 1_000;

export function createCauses() {
  /** The ids of the actions that are in the log, by tool call, oldest first. */
  const actionIds = new Map<string, number>();

  return {
    /** An action of the same step has no id yet: its observation gets its index instead. */
    resolve: (entries: readonly Entry[]): EventText[] => {
      const indexes = new Map<string, number>();
      return entries.map(({ text, call }, i): EventText => {
        if (call === undefined) return text;
        if (call.begins) {
          indexes.set(call.id, i);
          return text;
        }
        const answers = indexes.get(call.id);
        if (answers !== undefined) return { text, answers };
        const id = actionIds.get(call.id);
        return id === undefined ? text : `{"cause":${id},${text.slice(1)}`;
      });
    },
    /** The entries were recorded, the first of them under this id. */
    note: (entries: readonly Entry[], first: number): void => {
      for (const [i, { call }] of entries.entries()) {
        if (!call?.begins) continue;
        actionIds.delete(call.id);
        actionIds.set(call.id, first + i);
        const [oldest] = actionIds.keys();
        if (actionIds.size > callsMax && oldest !== undefined) actionIds.delete(oldest);
      }
    },
  };
}
