// `parley follow` and `parley logs`: what happens in a conversation, and what has happened so far.
import type { Handler } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { getConversation } from '../connection/conversationId.ts';
import type { followCommand, logsCommand } from '../declarations/conversations.ts';
import { followConversation, printLog } from '../follow.ts';
import { createOutput } from '../terminal/output.ts';

export const follow: Handler<typeof followCommand> = async ({ args, options }) => {
  const output = createOutput(options);
  const { from, stay, full, partials } = options;
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, args.id);
  return followConversation({ parley, output, id, from, stay, full, partials });
};

export const logs: Handler<typeof logsCommand> = async ({ args, options }) => {
  const output = createOutput(options);
  const { from, full, partials } = options;
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, args.id);
  const following = { parley, output, id, from, stay: false, full, partials };
  return options.follow ? followConversation(following) : printLog(following);
};
