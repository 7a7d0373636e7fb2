// What an agent is sent for the messages of its user: a session that is new begins with the instructions, and with what
// was said before where there was something.
import type { ContentBlock, PromptCapabilities } from '@agentclientprotocol/sdk';
import type { Database } from '../db/transaction.ts';
import { readEvents } from '../events/store.ts';
import { type FetchedImage, toPrompt, type UserMessage } from './acp/prompt.ts';
import { type History, readHistory } from './history.ts';
import type { UserEvent } from './inbox.ts';
import type { ClaimedConversation } from './store.ts';

export type FetchImage = (url: string, signal: AbortSignal) => Promise<FetchedImage | undefined>;

interface PromptsOptions {
  readonly database: Database;
  readonly conversation: ClaimedConversation;
  /** What a session begins with; empty where there is nothing to say, or the agent has it from elsewhere. */
  readonly preamble: string;
  /** The agent knows nothing yet. */
  readonly isNew: boolean;
  readonly capabilities: PromptCapabilities | undefined;
  readonly fetchImage: FetchImage;
  readonly signal: AbortSignal;
}

function toMessage({ args }: UserEvent): UserMessage {
  const { content, image_urls: images } = args;
  return {
    content: typeof content === 'string' ? content : '',
    imageUrls: Array.isArray(images) ? images.filter((url) => typeof url === 'string') : [],
  };
}

function textBlock(text: string): ContentBlock[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

const interrupted =
  'You were interrupted before you had finished, and what ran at that moment may not have been completed. Look at how things stand, and go on with the last message of the user.';

function quote(content: unknown): string {
  return typeof content === 'string' ? content.replaceAll(/^/gm, '> ') : '';
}

/** The files may be others, on another machine or after a replay. */
const afterSteps =
  'Go on from there, and do not do again what was done. Look at how the files are before you rely on them.';

function historyText({ text, hasSteps }: History): string {
  if (text === '') return '';
  const history = `This is how the conversation went so far:\n\n<history>\n${text}\n</history>`;
  return hasSteps ? `${history}\n\n${afterSteps}` : history;
}

export function createPrompts(options: PromptsOptions) {
  const { database, conversation, preamble, isNew, capabilities, signal } = options;
  const fetchImage = (url: string) => options.fetchImage(url, signal);
  let begun = !isNew;

  async function beginning(): Promise<ContentBlock[]> {
    const { key, heard, next_event: below } = conversation;
    const history = await readHistory({ database, key, heard, below });
    return [...textBlock(preamble), ...textBlock(historyText(history))];
  }

  async function toBlocks(messages: readonly UserEvent[]): Promise<ContentBlock[]> {
    const first = begun ? [] : await beginning();
    begun = true;
    return [...first, ...(await toPrompt(messages.map(toMessage), { capabilities, fetchImage }))];
  }

  /** The message that the lost turn was about: its agent may have died before it had noted it. */
  async function lastMessage(): Promise<string> {
    const { key, heard } = conversation;
    const last = { conversation: key, from: heard - 1, below: heard, newestFirst: true, max: 1, bytesMax: 1 };
    const [event] = await database.run(readEvents, last);
    return event === undefined ? '' : quote((JSON.parse(event.json) as UserEvent).args?.['content']);
  }

  /** What makes an agent go on whose turn was cut off. */
  async function goOn(): Promise<ContentBlock[]> {
    const blocks = await toBlocks([]);
    return [...blocks, ...textBlock(interrupted), ...textBlock(isNew ? '' : await lastMessage())];
  }

  return { toBlocks, goOn };
}
