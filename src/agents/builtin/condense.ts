// Condenses long histories: a summary by the model replaces the oldest messages.
import { generateText, type ModelMessage, type ToolResultPart } from 'ai';
import { sideRequestHeader } from '../../gateway/currentModel.ts';
import { jsonOf, textOf } from '../../text/foreignText.ts';
import type { AcpClient } from './client.ts';
import { charsPerToken, tokensOf, tokensOfAll } from './history.ts';
import type { Journal } from './journal.ts';
import { type Model, providerOptions } from './model.ts';

/** The share of the context window from which the history is condensed. */
const fullShare = 0.75;
/**
 * The number of messages from which the history is condensed, however short they are: each is converted, sent and
 * checked again in every request.
 */
const messagesMax = 800;
/** The share of the context window, or of a shorter history, that the newest messages keep. */
const keptShare = 0.2;
/** How much a history must grow before it is condensed again, so that there is no endless loop. */
const growth = 1.3;
const partCharsMax = 4_000;
const messageCharsMax = 20_000;
const asNotesCharsMax = 100_000;

const notesPrompt = `Take notes of the conversation below between a user and a coding agent, so that the agent can go on from the notes alone. Keep: what the user wants and every constraint they named; what was done, with exact names of files, functions, commands, branches and URLs; what was found out, with exact error messages that still matter; what failed and must not be tried again; what is left to do next. Write in short lines. Do not address anybody, and do not go on with the work.`;

function partText(part: Exclude<ModelMessage['content'], string>[number]): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'tool-call':
      return `[uses ${part.toolName}: ${jsonOf(part.input)}]`;
    case 'tool-result':
      return `[${part.toolName} gave: ${'value' in part.output ? textOf(part.output.value) : 'nothing'}]`;
    default:
      return `[${part.type}]`;
  }
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

/** Returns the index of the first message to keep. It is never a tool result, which would be without its call. */
function findSplit(messages: readonly ModelMessage[], tokensMax: number): number {
  let tokens = 0;
  let split = messages.length;
  for (let at = messages.length - 1; at > 0; at--) {
    const message = messages[at] as ModelMessage;
    tokens += tokensOf(message);
    // The newest answer and its results stay, however long they are.
    if (tokens > tokensMax && split < messages.length) break;
    if (message.role !== 'tool') split = at;
  }
  return split;
}

function shorten(part: ToolResultPart, charsMax: number): ToolResultPart {
  const { output } = part;
  if (output.type !== 'text' && output.type !== 'error-text') return part;
  return { ...part, output: { ...output, value: cut(output.value, charsMax) } };
}

/** Cuts results that are too long in the messages to keep. */
function shortened(messages: readonly ModelMessage[], tokensMax: number): ModelMessage[] {
  if (tokensOfAll(messages) <= tokensMax) return [...messages];
  const results = messages.flatMap((message) => (message.role === 'tool' ? message.content : [])).length;
  const charsMax = Math.floor((tokensMax * charsPerToken) / Math.max(1, results));
  return messages.map((message) =>
    message.role !== 'tool'
      ? message
      : {
          ...message,
          content: message.content.map((part) =>
            part.type === 'tool-result' ? shorten(part, charsMax) : part,
          ),
        },
  );
}

/** Returns the first message of the conversation, which may be in an earlier summary. */
function firstMessageOf(first: ModelMessage | undefined): string {
  if (first?.role !== 'user') return '';
  const [, begun] = /<first_message>\n(.*?)\n<\/first_message>/s.exec(textOf(first.content)) ?? [];
  return begun ?? cut(render(first), messageCharsMax);
}

/** Returns the newest message of the user that is not kept. */
function lastMessageOf(old: readonly ModelMessage[]): string {
  const last = old.slice(1).findLast(({ role }) => role === 'user');
  return last === undefined
    ? ''
    : `\n\n<latest_message>\n${cut(render(last), messageCharsMax)}\n</latest_message>`;
}

function summaryOf(old: readonly ModelMessage[], notes: string): ModelMessage {
  const first = `<first_message>\n${firstMessageOf(old[0])}\n</first_message>`;
  return {
    role: 'user',
    content: `The conversation so far was long, and these notes stand for its beginning.\n\n${first}${lastMessageOf(old)}\n\n<notes>\n${notes}\n</notes>`,
  };
}

/** Converts a history that cannot be sent to one message. */
export function asNotes(messages: readonly ModelMessage[]): ModelMessage[] {
  const notes = cut(messages.map(render).join('\n\n'), asNotesCharsMax);
  return [
    { role: 'user', content: `This is how the conversation went so far.\n\n<notes>\n${notes}\n</notes>` },
  ];
}

interface CondenseNeeds {
  readonly model: Model;
  readonly journal: Journal;
  readonly client: AcpClient;
  readonly signal: AbortSignal;
}

async function takeNotes({ model, signal }: CondenseNeeds, old: readonly ModelMessage[]): Promise<string> {
  const charsMax = model.contextTokens * charsPerToken * fullShare * fullShare;
  const history = cut(old.map(render).join('\n\n'), charsMax);
  const { text } = await generateText({
    model: model.language,
    prompt: `${notesPrompt}\n\n<conversation>\n${history}\n</conversation>`,
    maxRetries: 0,
    abortSignal: signal,
    headers: { [sideRequestHeader]: '1' },
    providerOptions,
  });
  return text.trim();
}

export interface Condenser {
  /** Condenses if the token count of the provider, or else an estimate, is too high, or there are too many messages. */
  condenseIfLong(needs: CondenseNeeds, tokens: number | undefined): Promise<void>;
  /** Returns false if the history is too short or the model does not answer. */
  condense(needs: CondenseNeeds): Promise<boolean>;
}

/** Each session has its own, because it remembers the last time. */
export function createCondenser(): Condenser {
  let notBefore = 0;

  async function condense(needs: CondenseNeeds): Promise<boolean> {
    const { journal, client, model, signal } = needs;
    const { messages } = journal;
    // The actual limit of the provider may be lower than the known one.
    const tokensMax = Math.min(model.contextTokens, tokensOfAll(messages)) * keptShare;
    const split = findSplit(messages, tokensMax);
    const old = messages.slice(0, split);
    if (old.length < 2) return false;
    try {
      const notes = await takeNotes(needs, old);
      if (notes === '') return false;
      journal.replace([summaryOf(old, notes), ...shortened(messages.slice(split), tokensMax)]);
      const text = 'The conversation became long. I continue with a summary of its beginning.';
      await client.send({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } });
      return true;
    } catch (error) {
      if (signal.aborted) throw error;
      return false;
    } finally {
      notBefore = tokensOfAll(journal.messages) * growth;
    }
  }

  return {
    condense,
    condenseIfLong: async (needs, tokens) => {
      const { messages } = needs.journal;
      const guessed = tokensOfAll(messages);
      const isFull = (tokens ?? guessed) > needs.model.contextTokens * fullShare;
      const isLong = isFull || messages.length > messagesMax;
      if (isLong && guessed >= notBefore) await condense(needs);
    },
  };
}
