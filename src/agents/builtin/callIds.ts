// Names of calls of our own: providers give the same one twice, and each has a form that others would refuse, should
// the user change the model.
import { randomBytes } from 'node:crypto';
import type { ModelMessage } from 'ai';
import { textOf } from '../../text/foreignText.ts';

/** Letters and digits, so many: what every provider takes. */
const idChars = 9;

export interface CallIds {
  /** Ours for the provider's. */
  idOf(theirs: string): string;
  /** The message with our ids in its calls, and in results of calls that could not be understood. */
  renamed(message: ModelMessage): ModelMessage;
}

function newCallId(): string {
  return randomBytes(idChars)
    .toString('base64')
    .replaceAll(/[^A-Za-z0-9]/g, 'x')
    .slice(0, idChars);
}

/** Of one answer. */
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
