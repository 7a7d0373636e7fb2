// `parley cancel`, `stop`, `start`, `rm`, `rename`, `archive`, `pin` and `change`.
import type { ConversationInfo, Parley } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { plainLine } from '../../text/plainText.ts';
import type { Handler } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { getConversation } from '../connection/conversationId.ts';
import type {
  archiveCommand,
  cancelCommand,
  changeCommand,
  pinCommand,
  removeCommand,
  renameCommand,
  startCommand,
  stopCommand,
} from '../declarations/conversations.ts';
import { exits } from '../exits.ts';
import { createOutput, type Output } from '../terminal/output.ts';
import { ask, canAsk } from '../terminal/prompt.ts';

/** A shorter start of an id is too likely a typing error to delete by it. */
const deletedCharsMin = 6;

/** Finds all of them, each once, so that nothing is done if one does not exist. */
async function getAll(parley: Parley, typed: readonly string[]): Promise<readonly ConversationInfo[]> {
  const found = new Map<string, ConversationInfo>();
  for (const start of typed) {
    const info = await getConversation(parley, start);
    found.set(info.conversation_id, info);
  }
  return [...found.values()];
}

function nameOf({ title, conversation_id: id }: ConversationInfo, { style }: Output): string {
  return `${plainLine(title)}  ${style('dim', plainLine(id))}`;
}

interface Change {
  readonly parley: Parley;
  readonly output: Output;
  readonly conversations: readonly ConversationInfo[];
  readonly done: string;
  /** Printed if there was nothing to do. */
  readonly nothing?: string;
  /** Returns false if there was nothing to do. */
  readonly act: (id: string) => Promise<unknown>;
}

/** Reports when all is done, so that a reader of the output who leaves does not end it halfway. */
async function changeAll({ output, conversations, done, nothing = done, act }: Change): Promise<number> {
  const reports: (() => void)[] = [];
  try {
    for (const info of conversations) {
      const success = (await act(info.conversation_id)) !== false;
      reports.push(() => {
        if (output.isJson) output.json({ conversation_id: info.conversation_id, success });
        else output.text(`${success ? done : nothing}: ${nameOf(info, output)}\n`);
      });
    }
  } finally {
    for (const report of reports) report();
  }
  return exits.done;
}

export const cancel: Handler<typeof cancelCommand> = async ({ args, options }) => {
  const parley = connect();
  const conversations = await getAll(parley, args.id);
  const act = (id: string) => parley.conversations.cancel(id);
  return changeAll({ parley, output: createOutput(options), conversations, done: 'Cancelled', act });
};

export const stop: Handler<typeof stopCommand> = async ({ args, options }) => {
  const parley = connect();
  const conversations = await getAll(parley, args.id);
  const act = (id: string) => parley.conversations.stop(id);
  return changeAll({ parley, output: createOutput(options), conversations, done: 'Stopped', act });
};

export const start: Handler<typeof startCommand> = async ({ args, options }) => {
  const parley = connect();
  const conversations = await getAll(parley, args.id);
  const act = (id: string) => parley.conversations.start(id);
  return changeAll({ parley, output: createOutput(options), conversations, done: 'Resumed', act });
};

async function mayDelete(conversations: readonly ConversationInfo[], output: Output): Promise<boolean> {
  for (const info of conversations) output.note(`  ${nameOf(info, output)}\n`);
  const what =
    conversations.length === 1 ? 'this conversation' : `these ${conversations.length} conversations`;
  const answer = await ask(`Delete ${what} with all events and files? This cannot be undone. [y/N] `);
  return /^y(es)?$/i.test(answer.trim());
}

export const remove: Handler<typeof removeCommand> = async ({ args, options }) => {
  const output = createOutput(options);
  const parley = connect();
  const conversations = await getAll(parley, args.id);
  const ids = new Set(conversations.map(({ conversation_id: id }) => id));
  const short = args.id.find((typed) => typed.length < deletedCharsMin && !ids.has(typed));
  if (short !== undefined)
    throw new RefusalError(`"${short}" is too short: type at least ${deletedCharsMin} characters of the id.`);
  if (!options.yes && canAsk() && !(await mayDelete(conversations, output))) {
    output.note('Nothing was deleted.\n');
    return exits.failed;
  }
  const act = (id: string) => parley.conversations.delete(id);
  return changeAll({ parley, output, conversations, done: 'Deleted', nothing: 'Already deleted', act });
};

export const rename: Handler<typeof renameCommand> = async ({ args, options }) => {
  const output = createOutput(options);
  const title = args.title.join(' ');
  if (title === '') throw new RefusalError('The title is empty.');
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, args.id);
  await parley.conversations.rename(id, title);
  if (output.isJson) output.json({ conversation_id: id, success: true });
  else output.text(`Renamed: ${plainLine(title)}  ${output.style('dim', id)}\n`);
  return exits.done;
};

export const archive: Handler<typeof archiveCommand> = async ({ args, options }) => {
  const parley = connect();
  const conversations = await getAll(parley, args.id);
  const archived = !options.undo;
  const act = (id: string) => parley.conversations.update(id, { archived });
  const done = archived ? 'Archived' : 'Unarchived';
  return changeAll({ parley, output: createOutput(options), conversations, done, act });
};

export const pin: Handler<typeof pinCommand> = async ({ args, options }) => {
  const parley = connect();
  const conversations = await getAll(parley, args.id);
  const pinned = !options.undo;
  const act = (id: string) => parley.conversations.update(id, { pinned });
  const done = pinned ? 'Pinned' : 'Unpinned';
  return changeAll({ parley, output: createOutput(options), conversations, done, act });
};

/** In the place of a value, for the one in the settings. */
const defaultWord = 'default';

export const change: Handler<typeof changeCommand> = async ({ args, options }) => {
  const { agent, model, confirm } = options;
  const output = createOutput(options);
  if (agent === undefined && model === undefined && confirm === undefined)
    throw new RefusalError('Name an --agent or a --model, or set --confirm.');
  const nameOrNull = (word: string) => (word === defaultWord ? null : word);
  const parley = connect();
  const info = await getConversation(parley, args.id);
  const id = info.conversation_id;
  await parley.conversations.update(id, {
    ...(agent === undefined ? {} : { agent: nameOrNull(agent) }),
    ...(model === undefined ? {} : { llm_model: nameOrNull(model) }),
    ...(confirm === undefined
      ? {}
      : { confirmation_mode: confirm === defaultWord ? null : confirm === 'on' }),
  });
  if (output.isJson) output.json({ conversation_id: id, success: true });
  else output.text(`Changed from its next turn on: ${nameOf(info, output)}\n`);
  return exits.done;
};
