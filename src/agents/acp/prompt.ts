// Converts messages of the user to the prompt of an agent.
import type { ContentBlock, PromptCapabilities } from '@agentclientprotocol/sdk';
import { imageKind } from '../../conversations/create/images.ts';
import { mib } from '../../validation/schema.ts';

/** The limit of one image before it is encoded. */
export const imageBytesMax = 5 * mib;
/** The limit of one message. Further images are counted, but not sent. */
const imagesMax = 20;

export interface FetchedImage {
  readonly data: Buffer;
  readonly mimeType: string;
}

export interface UserMessage {
  readonly content: string;
  readonly imageUrls: readonly string[];
  /** The paths of attached files in the sandbox. */
  readonly files?: readonly string[];
}

interface PromptOptions {
  readonly capabilities: PromptCapabilities | undefined;
  /** Fetches an image within limits. If it returns undefined or throws, the agent gets the URL. */
  readonly fetchImage?: (url: string) => Promise<FetchedImage | undefined>;
}

const text = (value: string): ContentBlock => ({ type: 'text', text: value });

/** Also replaces strings that are not URLs. A notice in the log names them. */
const unreadable = text('[The user sent an image that cannot be read, or is too large.]');

/** Decodes a data URL if it is an image in base64. */
function decode(url: string): FetchedImage | undefined {
  const [, mimeType, base64] = /^data:(image\/[\w.+-]+);base64,([A-Za-z0-9+/=\s]+)$/.exec(url) ?? [];
  if (mimeType === undefined || base64 === undefined) return undefined;
  return { mimeType, data: Buffer.from(base64, 'base64') };
}

function nameOf(url: string): string {
  return decodeURIComponentSafely(URL.parse(url)?.pathname.split('/').at(-1) ?? '') || 'image';
}

function decodeURIComponentSafely(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

async function imageBlock(url: string, options: PromptOptions): Promise<ContentBlock> {
  const isData = /^data:/i.test(url);
  if (!isData && imageKind(url) !== 'link') return unreadable;
  if (options.capabilities?.image !== true)
    return text(`[The user sent an image${isData ? '' : `, ${url}`}. You cannot see images here.]`);
  const image = isData ? decode(url) : await options.fetchImage?.(url).catch(() => undefined);
  const fits = image !== undefined && image.data.length > 0 && image.data.length <= imageBytesMax;
  if (fits) return { type: 'image', data: image.data.toString('base64'), mimeType: image.mimeType };
  if (isData) return unreadable;
  return {
    type: 'resource_link',
    name: nameOf(url),
    uri: url,
    description: 'An image that the user sent. It could not be fetched.',
  };
}

/** One line for each file, so that no name can look like something else. */
function filesText(files: readonly string[]): ContentBlock {
  const lines = files.map((file) => `- ${file.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')}`);
  return text(`[The user attached these files:]\n${lines.join('\n')}`);
}

/** Joins the messages that arrived while the agent was busy in one prompt. Never rejects. */
export async function toPrompt(
  messages: readonly UserMessage[],
  options: PromptOptions,
): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = [];
  for (const { content, imageUrls, files = [] } of messages) {
    if (content !== '') blocks.push(text(content));
    if (files.length > 0) blocks.push(filesText(files));
    const images = imageUrls.slice(0, imagesMax).map((url) => imageBlock(url, options));
    blocks.push(...(await Promise.all(images)));
    if (imageUrls.length > imagesMax)
      blocks.push(text(`[${imageUrls.length - imagesMax} more images were left out.]`));
  }
  return blocks;
}

interface Preamble {
  readonly instructions?: string | null;
  /** A language tag. English needs no instruction. */
  readonly language?: string | null;
}

function nameLanguage(tag: string): string {
  try {
    return new Intl.DisplayNames(['en'], { type: 'language' }).of(tag) ?? tag;
  } catch {
    return tag;
  }
}

/** Returns what precedes the first message of a session; empty if there is nothing. */
export function preamble({ instructions, language }: Preamble): ContentBlock[] {
  const parts = [
    ...(instructions ? [`<instructions>\n${instructions}\n</instructions>`] : []),
    ...(language && !/^en\b/i.test(language)
      ? [`Speak ${nameLanguage(language)} with the user, unless they ask otherwise.`]
      : []),
  ];
  return parts.length === 0 ? [] : [text(parts.join('\n\n'))];
}
