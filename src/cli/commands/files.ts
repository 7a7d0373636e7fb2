// `parley files` and `parley cat`: the files in the workspace of a conversation.

import { plainLine, plainText } from '../../text/plainText.ts';
import type { Handler } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { getConversation } from '../connection/conversationId.ts';
import type { catCommand, filesCommand } from '../declarations/conversations.ts';
import { exits } from '../exits.ts';
import { createOutput } from '../terminal/output.ts';

export const files: Handler<typeof filesCommand> = async ({ args, options }) => {
  const output = createOutput(options);
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, args.id);
  for (const name of await parley.workspace.files(id, args.folder)) {
    if (output.isJson) output.json(name);
    else output.text(`${plainLine(name)}\n`);
  }
  return exits.done;
};

export const cat: Handler<typeof catCommand> = async ({ args }) => {
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, args.id);
  const text = await parley.workspace.file(id, args.file);
  process.stdout.write(process.stdout.isTTY ? plainText(text) : text);
  return exits.done;
};
