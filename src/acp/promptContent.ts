// Converts the content of a prompt to a message of a conversation.
import { type ContentBlock, RequestError } from '@agentclientprotocol/sdk';
import type { NewMessage } from '../client/parley.ts';

/** A context that the client embeds: the text of a file, or a link if it is not text. */
function resourceText({ resource }: Extract<ContentBlock, { type: 'resource' }>): string {
  if (!('text' in resource)) return resource.uri;
  return `\n\n<context ref="${resource.uri.replaceAll('"', '%22')}">\n${resource.text}\n</context>`;
}

function textOf(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'resource_link':
      return `[@${block.name}](${block.uri})`;
    case 'resource':
      return resourceText(block);
    default:
      return '';
  }
}

export function toMessage(blocks: readonly ContentBlock[]): NewMessage {
  const audio = blocks.findIndex(({ type }) => type === 'audio');
  if (audio >= 0) throw RequestError.invalidParams({ path: `prompt.${audio}` }, 'audio is not supported');
  const images = blocks.flatMap((block) =>
    block.type === 'image' ? [`data:${block.mimeType};base64,${block.data}`] : [],
  );
  return { message: blocks.map(textOf).join(''), ...(images.length === 0 ? {} : { image_urls: images }) };
}
