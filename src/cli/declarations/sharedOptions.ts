// Options and arguments that several commands share.
import type { Argument, Options } from '../command.ts';

export const jsonOption = {
  json: { type: 'boolean', help: 'Print JSON, one object per line.' },
} as const satisfies Options;

export const partialsOption = {
  partials: {
    type: 'boolean',
    help: 'In a pipe or with --json, also print text that is still being written. A terminal always shows it.',
  },
} as const satisfies Options;

export const followOptions = {
  follow: { type: 'boolean', short: 'f', help: 'Show what happens until the agent waits for you.' },
  full: { type: 'boolean', help: 'Show long outputs in full.' },
  ...partialsOption,
  ...jsonOption,
} as const satisfies Options;

export const imageOption = {
  image: {
    type: 'string',
    multiple: true,
    value: 'FILE|URL',
    help: 'Attach an image (PNG, JPEG, GIF or WebP).',
    completes: 'files',
  },
} as const satisfies Options;

export const conversationArgument = {
  name: 'id',
  help: 'The id of a conversation, or the start of it if no other conversation has the same.',
  completes: 'conversations',
} as const satisfies Argument;

export const messageArgument = {
  name: 'message',
  help: 'What the agent should do. Without it, or with "-", the message is read from standard input.',
  optional: true,
  multiple: true,
} as const satisfies Argument;
