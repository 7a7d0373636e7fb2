// Images in messages: where models take them, and messages without them for those that take none, which would refuse
// all that follows, too.
import type { FilePart, ModelMessage, ToolResultPart } from 'ai';

const leftOut = { type: 'text', text: '[An image was here that the model does not take.]' } as const;
const below = { type: 'text', text: '[The image follows the results.]' } as const;
const above = { type: 'text', text: 'The images of the results above:' } as const;

type Output = Extract<ToolResultPart['output'], { type: 'content' }>;
type OutputPart = Output['value'][number];

const isImage = ({ type }: { readonly type: string }): boolean => type === 'file' || type === 'image';

function hasImages({ role, content }: ModelMessage): boolean {
  if (role === 'user') return typeof content !== 'string' && content.some(isImage);
  if (role !== 'tool') return false;
  return content.some((part) => imagesOf(part).length > 0);
}

type ToolPart = Extract<ModelMessage, { role: 'tool' }>['content'][number];

function imagesOf(part: ToolPart): OutputPart[] {
  return part.type === 'tool-result' && part.output.type === 'content'
    ? part.output.value.filter(isImage)
    : [];
}

function replaceIn(part: ToolPart, text: OutputPart): ToolPart {
  if (part.type !== 'tool-result' || part.output.type !== 'content') return part;
  const value = part.output.value.map((one) => (isImage(one) ? text : one));
  return { ...part, output: { ...part.output, value } };
}

function without(message: ModelMessage): ModelMessage {
  if (message.role === 'tool')
    return { ...message, content: message.content.map((part) => replaceIn(part, leftOut)) };
  if (message.role !== 'user' || typeof message.content === 'string') return message;
  return { ...message, content: message.content.map((part) => (isImage(part) ? leftOut : part)) };
}

/** The same array where there are none. */
export function withoutImages(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  return messages.some(hasImages) ? messages.map(without) : messages;
}

/** Results as text alone, each image in a message behind them: in some APIs they would be read as text. */
export function withImagesBehind(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.flatMap((message): ModelMessage[] => {
    if (message.role !== 'tool' || !hasImages(message)) return [message];
    const images = message.content.flatMap(imagesOf) as FilePart[];
    const content = message.content.map((part) => replaceIn(part, below));
    return [
      { ...message, content },
      { role: 'user', content: [above, ...images] },
    ];
  });
}
