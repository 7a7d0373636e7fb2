// Long histories become short ones: the oldest messages give way to notes that the model itself takes of them.
import { generateText, type ModelMessage } from 'ai';
import { providerOptions } from './model.ts';
import type { TurnNeeds } from './turn.ts';

/** Of what the model can take in: from there on it is condensed. */
const fullShare = 0.75;
/** Of what the model can take in: so much of the newest is left as it is. */
const keptShare = 0.2;
const charsPerToken = 4;
const partCharsMax = 4_000;
const firstMessageCharsMax = 20_000;
/** What marks a request that is none of the work; see the gateway. */
export const asideHeaders = { 'x-parley-aside': '1' };

const order = `Take notes of the conversation below between a user and a coding agent, so that the agent can go on from the notes alone. Keep: what the user wants and every constraint they named; what was done, with exact names of files, functions, commands, branches and URLs; what was found out, with exact error messages that still matter; what failed and must not be tried again; what is left to do next. Write in short lines. Do not address anybody, and do not go on with the work.`;

function charsOf(message: ModelMessage): number {
  return JSON.stringify(message.content).length;
}

/** Whether it is time, by the count of the provider or, without one, by length. */
export function isTooLong(tokens: number | undefined, { model, journal }: TurnNeeds): boolean {
  const guessed = () => journal.messages.reduce((sum, one) => sum + charsOf(one), 0) / charsPerToken;
  return (tokens ?? guessed()) > model.contextTokens * fullShare;
}

function partText(part: Exclude<ModelMessage['content'], string>[number]): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'tool-call':
      return `[uses ${part.toolName}: ${JSON.stringify(part.input)}]`;
    case 'tool-result':
      return `[${part.toolName} gave: ${'value' in part.output ? textOf(part.output.value) : 'nothing'}]`;
    default:
      return `[${part.type}]`;
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const half = Math.floor(charsMax / 2);
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters are left out …\n${text.slice(-half)}`;
}

function render({ role, content }: ModelMessage): string {
  const parts = typeof content === 'string' ? [content] : content.map(partText);
  return `${role}: ${parts.map((part) => cut(part, partCharsMax)).join('\n')}`;
}

/** The newest that fit; they begin with what somebody said, for a result alone has no call that it belongs to. */
function countKept(messages: readonly ModelMessage[], charsMax: number): number {
  let chars = 0;
  let kept = 0;
  for (let n = 1; n < messages.length; n++) {
    const message = messages[messages.length - n] as ModelMessage;
    chars += charsOf(message);
    if (chars > charsMax) break;
    if (message.role !== 'tool') kept = n;
  }
  return kept;
}

/** What was said first of all; it stands in the notes of an earlier time, where there are some. */
function firstMessageOf(first: ModelMessage | undefined): string {
  if (first?.role !== 'user') return '';
  const [, begun] = /<first_message>\n(.*?)\n<\/first_message>/s.exec(textOf(first.content)) ?? [];
  return begun ?? cut(render(first), firstMessageCharsMax);
}

function summaryOf(first: ModelMessage | undefined, notes: string): ModelMessage {
  const begun = firstMessageOf(first);
  return {
    role: 'user',
    content: `The conversation so far was long, and these notes stand for its beginning.\n\n<first_message>\n${begun}\n</first_message>\n\n<notes>\n${notes}\n</notes>`,
  };
}

/** False where it cannot be: there is too little of it, or the model does not answer. */
export async function condense(needs: TurnNeeds): Promise<boolean> {
  const { journal, client, model, signal } = needs;
  const { messages } = journal;
  const contextChars = model.contextTokens * charsPerToken;
  const kept = countKept(messages, contextChars * keptShare);
  const old = messages.slice(0, messages.length - kept);
  if (old.length < 2) return false;
  const history = cut(old.map(render).join('\n\n'), contextChars * fullShare * fullShare);
  try {
    const { text } = await generateText({
      model: model.language,
      prompt: `${order}\n\n<conversation>\n${history}\n</conversation>`,
      maxRetries: 0,
      abortSignal: signal,
      headers: asideHeaders,
      providerOptions,
    });
    if (text.trim() === '') return false;
    journal.condense(summaryOf(old[0], text), kept);
    const content = {
      type: 'text',
      text: 'The conversation became long. I go on with notes of its beginning.',
    } as const;
    await client.tell({ sessionUpdate: 'agent_thought_chunk', content });
    return true;
  } catch (error) {
    if (signal.aborted) throw error;
    return false;
  }
}
