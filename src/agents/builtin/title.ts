// Generates the title of a conversation from its first message.
import { generateText } from 'ai';
import { sideRequestHeader } from '../../gateway/currentModel.ts';
import { type Model, providerOptions } from './model.ts';

const messageCharsMax = 4_000;
const titleCharsMax = 60;
/** A message as short as this is its own title. */
const shortCharsMax = 30;

const order =
  'Write a title of three to seven words for a conversation with a coding agent that begins with the message below, in the language of the message. Answer with the title alone: one line, no quotation marks, no full stop at the end.';

function tidy(text: string): string {
  const [line = ''] = text.trim().split('\n', 1);
  const plain = line.replace(/^(title:|#+)\s*/i, '').replace(/^["'“”«»*]+|["'“”«»*.]+$/g, '');
  return Array.from(plain.trim()).slice(0, titleCharsMax).join('').trim();
}

/** Returns undefined if no title is needed or the model returns none. Never rejects. */
export async function findTitle(
  model: Model,
  message: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (message.trim().length <= shortCharsMax) return undefined;
  try {
    const { text } = await generateText({
      model: model.language,
      prompt: `${order}\n\n<message>\n${message.slice(0, messageCharsMax)}\n</message>`,
      maxRetries: 0,
      abortSignal: signal,
      headers: { [sideRequestHeader]: '1' },
      providerOptions,
    });
    return tidy(text) || undefined;
  } catch {
    return undefined;
  }
}
