// `parley fork`: a new conversation from an event of another.
import { commandName } from '../../process/program.ts';
import { plainLine, shellWord } from '../../text/plainText.ts';
import type { Handler } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { getConversation } from '../connection/conversationId.ts';
import type { forkCommand } from '../declarations/conversations.ts';
import { exits } from '../exits.ts';
import { createOutput } from '../terminal/output.ts';

export const fork: Handler<typeof forkCommand> = async ({ args, options }) => {
  const { event, message, title, files, agent, model } = options;
  const output = createOutput(options);
  const parley = connect();
  const { conversation_id: source } = await getConversation(parley, args.id);
  const created = await parley.conversations.fork(source, {
    ...(event === undefined ? {} : { event_id: event }),
    ...(message === undefined ? {} : { message }),
    ...(title === undefined ? {} : { title }),
    ...(files === undefined ? {} : { files }),
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : { llm_model: model }),
  });
  const id = created.conversation_id;
  if (output.isJson) output.json(created);
  else {
    output.text(`${output.style('bold', plainLine(id))}\n`);
    const next = message === undefined ? 'Continue it with' : 'Follow it with';
    const command = message === undefined ? `send ${shellWord(id)} --follow "…"` : `follow ${shellWord(id)}`;
    output.note(output.style('dim', `${next}: ${commandName} ${command}\n`));
  }
  return exits.done;
};
