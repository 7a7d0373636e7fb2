// From what the user sent to what the model reads.
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
  /** What the repository has to say to such words. */
  readonly calledFor: (words: string) => readonly string[];
  readonly seesImages: boolean;
}

export function toMessage(
  blocks: readonly ContentBlock[],
  { calledFor, seesImages }: MessageOptions,
): ModelMessage {
  const parts = blocks.map((block) => toPart(block, seesImages));
  const words = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  const told = calledFor(words).map((one) => text(`The repository tells agents this of it:\n\n${one}`));
  return { role: 'user', content: [...parts, ...told] };
}

/** What the user said first; before it may stand what the service had to say of earlier days. */
export function firstWordsOf(blocks: readonly ContentBlock[]): string {
  const texts = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return texts.find((one) => !one.includes('<history>')) ?? '';
}
