// Turns the messages of the user into prompts. A new session begins with the instructions and the history.
import type { ContentBlock, PromptCapabilities } from '@agentclientprotocol/sdk';
import { type FetchedImage, toPrompt, type UserMessage } from '../../agents/acp/prompt.ts';
import type { ClaimedConversation } from '../../conversations/run/claimStore.ts';
import type { Database } from '../../db/transaction.ts';
import { type History, readHistory } from './history.ts';
import {
  createInbox,
  isCancellation,
  type UserEvent,
  type UserMessage as UserMessageEvent,
} from './inbox.ts';

export type FetchImage = (url: string, signal: AbortSignal) => Promise<FetchedImage | undefined>;

interface PromptsOptions {
  readonly database: Database;
  readonly conversation: ClaimedConversation;
  /** The text that a session begins with; empty if there is none, or if the agent reads it from a file. */
  readonly preamble: string;
  readonly session: SessionKnowledge;
  /** What the user has cancelled before this event is history, even if no agent was given it. */
  readonly cancelledBelow: number;
  readonly capabilities: PromptCapabilities | undefined;
  readonly fetchImage: FetchImage;
  /** The path of an attached file in the sandbox. */
  readonly pathOf: (fileUrl: string) => string;
  readonly signal: AbortSignal;
}

function textBlock(text: string): ContentBlock[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

const interrupted =
  'You were interrupted before you had finished, and what ran at that moment may not have been completed. Look at how things stand, and go on with what the user asked for. Where all of it is done already, only say how it ended.';

const repeated =
  'These are the same messages of the user as before, repeated in case you did not receive them. They are no new request:';

const stoppedBefore =
  'Before this, you were stopped while you worked on the following messages of the user. They are repeated in case you did not receive them, and are no new request:';

function quote(content: string): string {
  return content.replaceAll(/^/gm, '> ');
}

/** The files may differ, on another machine or after a replay. */
const afterSteps =
  'Go on from there, and do not do again what was done. Look at how the files are before you rely on them.';

function historyText({ text, hasSteps }: History): string {
  if (text === '') return '';
  const history = `This is how the conversation went so far:\n\n<history>\n${text}\n</history>`;
  return hasSteps ? `${history}\n\n${afterSteps}` : history;
}

/** What the service knows about the agent's session. */
export interface SessionKnowledge {
  /** The session was not resumed, so the agent does not know the earlier conversation. */
  readonly isNew: boolean;
  /** Whether the agent has the messages of the open turn; undefined if that is unknown. */
  readonly hasTurn: boolean | undefined;
}

export function createPrompts(options: PromptsOptions) {
  const { database, conversation, preamble, session, capabilities, signal } = options;
  const { key, heard, next_event: end, turn_from: from, turn_open: isOpen } = conversation;
  const fetchImage = (url: string) => options.fetchImage(url, signal);
  const toMessage = ({ args }: UserMessageEvent): UserMessage => ({
    content: args.content,
    imageUrls: args.image_urls,
    files: args.file_urls.map(options.pathOf),
  });
  const toPromptBlocks = (messages: readonly UserMessage[]) =>
    toPrompt(messages, { capabilities, fetchImage });
  const { session_from: opened } = conversation;
  /**
   * The part of the log that the session lacks. A session whose first turn was cut off may lack everything before it.
   */
  const lacks =
    session.isNew || opened === null
      ? { heard: Math.max(heard, options.cancelledBelow), below: end }
      : { heard: from ?? heard, below: opened };
  let begun = !session.isNew && (opened === null || session.hasTurn === true);
  let recalled = from === null || isOpen === 1 || session.hasTurn === true;

  async function beginning(): Promise<ContentBlock[]> {
    if (begun) return [];
    const history = await readHistory({ database, key, ...lacks });
    return [...textBlock(preamble), ...textBlock(historyText(history))];
  }

  /** Reads the messages of the interrupted turn, without those that the user cancelled before it. */
  async function turnMessages(): Promise<UserMessage[]> {
    const messages: UserMessage[] = [];
    const add = (event: UserEvent) => {
      if (event.type === 'action.message') messages.push(toMessage(event));
      else if (isCancellation(event)) messages.length = 0;
    };
    if (from !== null) await createInbox({ database, key, from, onEvent: add }).readNew(heard);
    return messages;
  }

  /** Repeats the messages of the interrupted turn, quoted so that they do not look like a new request. */
  async function repetition(sentence: string): Promise<ContentBlock[]> {
    const messages = await turnMessages();
    if (messages.length === 0) return [];
    const quoted = messages.map((message) => ({ ...message, content: quote(message.content) }));
    return [...textBlock(sentence), ...(await toPromptBlocks(quoted))];
  }

  /** Reminds the agent of a stopped turn. The turn is not continued, but later messages may refer to it. */
  async function recollection(): Promise<ContentBlock[]> {
    return recalled ? [] : repetition(stoppedBefore);
  }

  async function toBlocks(messages: readonly UserMessageEvent[]): Promise<ContentBlock[]> {
    const before = [...(await beginning()), ...(await recollection())];
    return [...before, ...(await toPromptBlocks(messages.map(toMessage)))];
  }

  /** Continues an interrupted turn. An agent that certainly did not get its messages gets them normally. */
  async function continueTurn(): Promise<ContentBlock[]> {
    const before = await beginning();
    if (session.hasTurn === false) return [...before, ...(await toPromptBlocks(await turnMessages()))];
    const again = session.hasTurn === true ? [] : await repetition(repeated);
    return [...before, ...textBlock(interrupted), ...again];
  }

  return {
    toBlocks,
    continueTurn,
    /** Must be called when the agent is given a prompt: until then, the next prompt begins in the same way. */
    onPrompt: () => {
      begun = true;
      recalled = true;
    },
  };
}
