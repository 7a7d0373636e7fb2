// `parley completion` prints the script for a shell, which then calls `parley complete`.
import { ParleyError } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { plainLine, shorten } from '../../text/plainText.ts';
import type { Handler } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { localContext, readContexts } from '../connection/contexts.ts';
import type { completeCommand, completionCommand } from '../declarations/machine.ts';
import { exits } from '../exits.ts';
import { type Candidate, complete, type Names } from '../syntax/complete.ts';
import { completionScripts } from '../syntax/completionScripts.ts';

const idsMax = 100;
const answerMsMax = 3_000;
const helpCharsMax = 80;

export const completion: Handler<typeof completionCommand> = async ({ args: { shell = 'bash' } }) => {
  process.stdout.write(completionScripts[shell]);
  return exits.done;
};

/** Ids with other characters would need quotes, which differ between shells. */
const isPlainId = (id: string) => /^[\w.:-]+$/.test(id);

const names: Names = {
  conversations: async () => {
    const { results } = await connect(answerMsMax).conversations.list({ limit: idsMax });
    return results
      .filter(({ conversation_id: id }) => isPlainId(id))
      .map(({ conversation_id: word, title }) => ({ word, help: title }));
  },
  contexts: async () => [
    { word: localContext, help: 'this machine' },
    ...readContexts().all.map(({ name: word, url: help }) => ({ word, help })),
  ],
};

const line = ({ word, help }: Candidate) => `${word}\t${shorten(plainLine(help), helpCharsMax)}\n`;

/** Completes nothing if the service does not answer: an error would be printed into the line that is being typed. */
export const completeWords: Handler<typeof completeCommand> = async ({ args: { words } }) => {
  try {
    const candidates = await complete(words, names);
    process.stdout.write(candidates === 'files' ? ':files\n' : candidates.map(line).join(''));
    return exits.done;
  } catch (error) {
    if (error instanceof ParleyError || error instanceof RefusalError) return exits.failed;
    throw error;
  }
};
