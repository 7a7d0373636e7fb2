// What a delivery says to people in a chat room: a heading, some text and a link.
import type { Change } from '../../events/changes/schema.ts';
import { conversationUrl } from '../../events/notification.ts';
import type { WaitingData } from '../waiting.ts';
import { neutralLine, neutralText } from './neutralText.ts';

/** Every service allows this much, even if each character has to be escaped. */
const titleCharsMax = 80;
const textCharsMax = 500;

/** Its heading and text cannot notify people or create links, but still need to be escaped for the service. */
export interface ChatMessage {
  readonly heading: string;
  readonly text: string;
  readonly url: string | null;
}

const statusWords = { STARTING: 'Starting', RUNNING: 'Running', STOPPED: 'Stopped' } as const;
const waitingWords = { approval: 'Approval needed', answer: 'Waiting for your answer' } as const;

function headingOf(words: string, title: string): string {
  const name = neutralLine(title, titleCharsMax);
  return name === '' ? words : `${words}: ${name}`;
}

function compose(words: string, title: string, text: string, url: string | null): ChatMessage {
  return { heading: headingOf(words, title), text: neutralText(text, textCharsMax), url };
}

export function waitingMessage({ waits_for, title, message, url }: WaitingData): ChatMessage {
  // The question of an agent is mostly at the end of its message.
  const text = neutralText(message, textCharsMax, waits_for === 'answer' ? 'end' : 'start');
  return { heading: headingOf(waitingWords[waits_for], title), text, url };
}

export function statusMessage(change: Change, publicUrl: string | undefined): ChatMessage {
  const { conversation_id, status, title, stop_reason } = change;
  if (status === null) return compose('Deleted', title, '', null);
  const url = conversationUrl(publicUrl, conversation_id);
  return compose(statusWords[status], title, stop_reason?.message ?? '', url);
}
