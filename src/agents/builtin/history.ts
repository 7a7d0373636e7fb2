// The history in a model request: estimates its length, and adapts it to the current model.
import type { ModelMessage, ToolResultPart } from 'ai';
import { jsonOf } from '../../text/foreignText.ts';
import type { Model } from './model.ts';

type Part = Exclude<ModelMessage['content'], string>[number];

export const charsPerToken = 4;
/** The approximate cost of an image of any size. */
const imageTokens = 1_600;

function tokensOfPart(part: Part): number {
  return part.type === 'file' || part.type === 'image' ? imageTokens : jsonOf(part).length / charsPerToken;
}

function estimate({ content }: ModelMessage): number {
  if (typeof content === 'string') return content.length / charsPerToken;
  return (content as readonly Part[]).reduce((sum, part) => sum + tokensOfPart(part), 0);
}

/** Messages never change, and every step needs the estimates of all. */
const estimates = new WeakMap<ModelMessage, number>();

/** Returns an estimate. */
export function tokensOf(message: ModelMessage): number {
  const tokens = estimates.get(message) ?? estimate(message);
  estimates.set(message, tokens);
  return tokens;
}

export function tokensOfAll(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), 0);
}

/** Appends a result. All results of a response are in one message, which is replaced, because messages never change. */
export function addResult(messages: ModelMessage[], result: ToolResultPart): void {
  const last = messages.at(-1);
  if (last?.role === 'tool') messages[messages.length - 1] = { ...last, content: [...last.content, result] };
  else messages.push({ role: 'tool', content: [result] });
}

/** Whether the part is reasoning of another provider, which this one would not accept. */
function isForeign(part: Part, { reasoningKey }: Model): boolean {
  if (part.type !== 'reasoning' && part.type !== 'reasoning-file') return false;
  const { providerOptions } = part;
  return reasoningKey === undefined
    ? providerOptions !== undefined
    : providerOptions?.[reasoningKey] === undefined;
}

/** Returns undefined if nothing of the message is left. */
function fit(message: ModelMessage, model: Model): ModelMessage | undefined {
  if (message.role !== 'assistant' || typeof message.content === 'string') return message;
  if (!message.content.some((part) => isForeign(part, model))) return message;
  const content = message.content.filter((part) => !isForeign(part, model));
  return content.length === 0 ? undefined : { ...message, content };
}

export function fitFor(messages: readonly ModelMessage[], model: Model): ModelMessage[] {
  return messages.map((message) => fit(message, model)).filter((message) => message !== undefined);
}

const notShown = { type: 'text', text: '[An image was here, which could not be shown.]' } as const;

export function hasImages(messages: readonly ModelMessage[]): boolean {
  return messages.some(
    ({ role, content }) =>
      role === 'user' && typeof content !== 'string' && content.some(({ type }) => type === 'file'),
  );
}

export function withoutImages(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message) => {
    if (message.role !== 'user' || typeof message.content === 'string') return message;
    const content = message.content.map((part) => (part.type === 'text' ? part : notShown));
    return { ...message, content };
  });
}
