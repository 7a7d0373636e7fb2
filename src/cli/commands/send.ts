// `parley send` and `parley confirm`: what a person tells an agent that is there.
import { parseArgs } from 'node:util';
import type { Decision, Parley } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { getConversation, sayWhich } from '../conversationId.ts';
import { connectionHelp, exitHelp, exits, followExitHelp, outputHelp } from '../exits.ts';
import { followConversation, followOptions } from '../following.ts';
import { readImage, readMessage } from '../inputs.ts';
import { createOutput, type Output } from '../terminal/output.ts';
import { shellWord } from '../terminal/shellWord.ts';

interface Told {
  readonly parley: Parley;
  readonly output: Output;
  readonly id: string;
  readonly follow: boolean;
  readonly full: boolean;
  /** For people. */
  readonly done: string;
}

/** Tells it, then shows what comes of it where that is wanted. */
async function tell(told: Told, act: () => Promise<void>): Promise<number> {
  const { parley, output, id, follow, full, done } = told;
  const { events } = await parley.conversations.events(id, { reverse: true, limit: 1 });
  await act();
  const from = (events[0]?.id ?? -1) + 1;
  if (follow) return followConversation({ parley, output, id, from, stay: false, full });
  if (output.isJson) output.json({ conversation_id: id, success: true });
  else output.text(`${done} ${output.style('dim', `${commandName} follow ${shellWord(id)}`)}\n`);
  return exits.done;
}

const sendHelp = `Usage: ${commandName} send ID "MESSAGE" [--image FILE|URL]… [-f|--follow] [--full] [--json|--text]
       ${commandName} send ID [options] [-] < FILE

Says something to the agent. A conversation that has stopped starts again; while the agent works, the message is
its next turn.

  --image FILE|URL  an image to look at; may be given several times
  -f, --follow      shows what comes of it until the agent waits for you
  --full            shows outputs whole

${connectionHelp}${outputHelp}
${exitHelp}${followExitHelp}`;

async function runSend(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: { ...followOptions, image: { type: 'string', multiple: true, default: [] } },
    allowPositionals: true,
  });
  const [typed, ...words] = positionals;
  const output = createOutput(values);
  if (typed === undefined) throw new RefusalError(sayWhich);
  const message = await readMessage(words);
  const image_urls = values.image.map(readImage);
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, typed);
  return tell({ parley, output, id, ...values, done: 'Sent.' }, () =>
    parley.conversations.message(id, { message, ...(image_urls.length === 0 ? {} : { image_urls }) }),
  );
}

export const send: Command = { help: sendHelp, run: runSend };

const decisions: Readonly<Record<string, Decision>> = {
  allow: 'allow',
  always: 'allow_always',
  reject: 'reject',
};

const confirmHelp = `Usage: ${commandName} confirm ID allow|always|reject [--question N] [-f|--follow] [--full] [--json|--text]

Answers the question of an agent that asks for permission.

allow      this once
always     this and others of its kind, as far as the agent knows such an answer
reject     not at all; the agent goes on without

  --question N  only where event N is what it asks; otherwise whatever it asks now
  -f, --follow  shows what comes of it until the agent waits for you
  --full        shows outputs whole

${connectionHelp}${outputHelp}
${exitHelp}${followExitHelp}`;

function questionOf(text: string | undefined): { question?: number } {
  if (text === undefined) return {};
  if (!/^\d{1,15}$/.test(text)) throw new RefusalError('--question must be the number of an event.');
  return { question: Number(text) };
}

async function runConfirm(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: { ...followOptions, question: { type: 'string' } },
    allowPositionals: true,
  });
  const [typed, word = '', ...rest] = positionals;
  const decision = Object.hasOwn(decisions, word) ? decisions[word] : undefined;
  if (decision === undefined || rest.length > 0)
    throw new RefusalError(`Say "${commandName} confirm ID allow", or always, or reject.`);
  const output = createOutput(values);
  const answer = { decision, ...questionOf(values.question) };
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, typed);
  return tell({ parley, output, id, ...values, done: 'Answered.' }, () =>
    parley.conversations.confirm(id, answer),
  );
}

export const confirm: Command = { help: confirmHelp, run: runConfirm };
