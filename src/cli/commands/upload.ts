// `parley upload`: files of this machine for the workspace of a conversation.
import { openAsBlob, statSync } from 'node:fs';
import { basename } from 'node:path';
import { RefusalError } from '../../errors.ts';
import { plainLine } from '../../text/plainText.ts';
import type { Handler } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { getConversation } from '../connection/conversationId.ts';
import type { uploadCommand } from '../declarations/conversations.ts';
import { exits } from '../exits.ts';
import { createOutput } from '../terminal/output.ts';

/** The file is read when it is sent. */
async function openFile(path: string) {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true)
    throw new RefusalError(`${plainLine(path)} is not a file that can be read.`);
  try {
    return { name: basename(path), content: await openAsBlob(path) };
  } catch {
    throw new RefusalError(`${plainLine(path)} cannot be read.`);
  }
}

export const upload: Handler<typeof uploadCommand> = async ({ args, options }) => {
  const output = createOutput(options);
  const opened = await Promise.all(args.file.map(openFile));
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, args.id);
  const uploaded = await parley.conversations.upload(id, opened);
  const { files, skipped } = uploaded;
  const { message } = options;
  if (message !== undefined && files.length > 0)
    await parley.conversations.message(id, { message, file_urls: files.map(({ path }) => path) });
  if (output.isJson) output.json({ conversation_id: id, ...uploaded });
  else for (const { path } of files) output.text(`${plainLine(path)}\n`);
  for (const { name, reason } of skipped) output.note(`${plainLine(name)} was skipped: ${plainLine(reason)}`);
  return skipped.length === 0 ? exits.done : exits.failed;
};
