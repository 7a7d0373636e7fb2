// Converts a prompt of the user to a message for the model.
import type { ContentBlock } from '@agentclientprotocol/sdk';
import type { FilePart, ModelMessage, TextPart } from 'ai';

type Part = TextPart | FilePart;

const text = (value: string): Part => ({ type: 'text', text: value });

export function imagePart(data: string, mediaType: string): FilePart {
  return { type: 'file', data: { type: 'data', data }, mediaType };
}

function toPart(block: ContentBlock, seesImages: boolean): Part {
  switch (block.type) {
    case 'text':
      return text(block.text);
    case 'image':
      return seesImages
        ? imagePart(block.data, block.mimeType)
        : text('[The user sent an image, which you cannot see.]');
    case 'resource_link':
      return text(`[${block.description ?? 'A link'}: ${block.uri}]`);
    case 'resource':
      return text('text' in block.resource ? block.resource.text : `[A file: ${block.resource.uri}]`);
    default:
      return text(`[The user sent ${block.type}, which you cannot perceive.]`);
  }
}

interface MessageOptions {
  /** Returns the microagents that the text triggers. */
  readonly triggeredBy: (words: string) => readonly string[];
  readonly seesImages: boolean;
}

export function toMessage(
  blocks: readonly ContentBlock[],
  { triggeredBy, seesImages }: MessageOptions,
): ModelMessage {
  const parts = blocks.map((block) => toPart(block, seesImages));
  const words = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  const notes = triggeredBy(words).map((one) => text(`The repository tells agents this of it:\n\n${one}`));
  return { role: 'user', content: [...parts, ...notes] };
}

/** Returns the first text of the user. A history of the service may precede it. */
export function firstWordsOf(blocks: readonly ContentBlock[]): string {
  const texts = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return texts.find((one) => !one.includes('<history>')) ?? '';
}
