// Converts the content of a prompt to a message of a conversation.
import { type ContentBlock, RequestError } from '@agentclientprotocol/sdk';
import type { NewMessage } from '../client/parley.ts';
import type { Paths } from './clientFolders.ts';

/** A context that the client embeds: the text of a file, or a link if it is not text. */
function resourceText({ resource }: Extract<ContentBlock, { type: 'resource' }>, paths: Paths): string {
  const url = paths.toWorkspaceUrl(resource.uri);
  if (!('text' in resource)) return url;
  return `\n\n<context ref="${url.replaceAll('"', '%22')}">\n${resource.text}\n</context>`;
}

function textOf(block: ContentBlock, paths: Paths): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'resource_link':
      return `[@${block.name}](${paths.toWorkspaceUrl(block.uri)})`;
    case 'resource':
      return resourceText(block, paths);
    default:
      return '';
  }
}

export function toMessage(blocks: readonly ContentBlock[], paths: Paths): NewMessage {
  const audio = blocks.findIndex(({ type }) => type === 'audio');
  if (audio >= 0) throw RequestError.invalidParams({ path: `prompt.${audio}` }, 'audio is not supported');
  const images = blocks.flatMap((block) =>
    block.type === 'image' ? [`data:${block.mimeType};base64,${block.data}`] : [],
  );
  const message = blocks.map((block) => textOf(block, paths)).join('');
  return { message, ...(images.length === 0 ? {} : { image_urls: images }) };
}
