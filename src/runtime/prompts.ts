// What an agent is sent for the messages of its user: a session that is new begins with the instructions, and with what
// was said before where there was something.
import type { ContentBlock, PromptCapabilities } from '@agentclientprotocol/sdk';
import type { Database } from '../db/transaction.ts';
import { type FetchedImage, toPrompt, type UserMessage } from './acp/prompt.ts';
import { readHistory } from './history.ts';
import type { UserEvent } from './inbox.ts';
import type { ClaimedConversation } from './store.ts';

export type FetchImage = (url: string) => Promise<FetchedImage | undefined>;

interface PromptsOptions {
  readonly database: Database;
  readonly conversation: ClaimedConversation;
  /** What a session begins with; empty where there is nothing to say, or the agent has it from elsewhere. */
  readonly preamble: string;
  /** The agent knows nothing yet. */
  readonly isNew: boolean;
  readonly capabilities: PromptCapabilities | undefined;
  readonly fetchImage: FetchImage;
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

function historyText(history: string): string {
  if (history === '') return '';
  return `This is how the conversation went so far:\n\n<history>\n${history}\n</history>`;
}

export function createPrompts(options: PromptsOptions) {
  const { database, conversation, preamble, isNew, capabilities, fetchImage } = options;
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

  return { toBlocks };
}
