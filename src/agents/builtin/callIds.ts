// Replaces the ids of tool calls, because some providers use the same id twice, and other providers would refuse their
// format after the user has changed the model.
import { randomBytes } from 'node:crypto';
import type { ModelMessage } from 'ai';
import { textOf } from '../../text/foreignText.ts';

/** Every provider accepts ids of nine letters and digits. */
const idChars = 9;

export interface CallIds {
  /** Returns the new id for an id of the provider. */
  idOf(theirs: string): string;
  /** Returns the message with new ids in its calls, and in results of calls that could not be parsed. */
  renamed(message: ModelMessage): ModelMessage;
}

function newCallId(): string {
  return randomBytes(idChars)
    .toString('base64')
    .replaceAll(/[^A-Za-z0-9]/g, 'x')
    .slice(0, idChars);
}

/** Serves one response of the model. */
export function createCallIds(): CallIds {
  const ids = new Map<string, string>();

  function idOf(theirs: string): string {
    const ours = ids.get(theirs) ?? newCallId();
    ids.set(theirs, ours);
    return ours;
  }

  const rename = <Part extends { readonly type: string }>(part: Part): Part =>
    'toolCallId' in part ? { ...part, toolCallId: idOf(textOf(part.toolCallId)) } : part;

  return {
    idOf,
    renamed: (message) =>
      typeof message.content === 'string'
        ? message
        : ({ ...message, content: message.content.map(rename) } as ModelMessage),
  };
}
