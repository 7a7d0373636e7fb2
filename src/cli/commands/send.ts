// `parley send` and `parley confirm`: messages and answers to an agent.
import type { Decision, Parley } from '../../client/parley.ts';
import { commandName } from '../../process/program.ts';
import { shellWord } from '../../text/plainText.ts';
import type { Handler } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { getConversation } from '../connection/conversationId.ts';
import type { confirmCommand, sendCommand } from '../declarations/conversations.ts';
import { exits } from '../exits.ts';
import { followConversation } from '../follow.ts';
import { readImage, readMessage } from '../inputs.ts';
import { createOutput, type Output } from '../terminal/output.ts';

interface Delivery {
  readonly parley: Parley;
  readonly output: Output;
  readonly id: string;
  readonly follow: boolean;
  readonly full: boolean;
  readonly partials: boolean;
  /** Printed for people when it is done. */
  readonly done: string;
}

/** Sends something to the agent, then follows the conversation from there if that is wanted. */
async function deliver(delivery: Delivery, act: () => Promise<unknown>): Promise<number> {
  const { parley, output, id, follow, full, partials, done } = delivery;
  const { events } = await parley.conversations.events(id, { reverse: true, limit: 1 });
  await act();
  const from = (events[0]?.id ?? -1) + 1;
  if (follow) return followConversation({ parley, output, id, from, stay: false, full, partials });
  if (output.isJson) output.json({ conversation_id: id, success: true });
  else output.text(`${done} ${output.style('dim', `${commandName} follow ${shellWord(id)}`)}\n`);
  return exits.done;
}

export const send: Handler<typeof sendCommand> = async ({ args, options }) => {
  const output = createOutput(options);
  const message = await readMessage(args.message);
  const image_urls = options.image.map(readImage);
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, args.id);
  return deliver({ parley, output, id, ...options, done: 'Sent.' }, () =>
    parley.conversations.message(id, { message, ...(image_urls.length === 0 ? {} : { image_urls }) }),
  );
};

const decisions = { allow: 'allow', always: 'allow_always', reject: 'reject' } as const satisfies Readonly<
  Record<string, Decision>
>;

export const confirm: Handler<typeof confirmCommand> = async ({ args, options }) => {
  const output = createOutput(options);
  const { question } = options;
  const answer = { decision: decisions[args.answer], ...(question === undefined ? {} : { question }) };
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, args.id);
  return deliver({ parley, output, id, ...options, done: 'Answered.' }, () =>
    parley.conversations.confirm(id, answer),
  );
};
