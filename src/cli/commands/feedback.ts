// `parley feedback export`.

import { jsonLine } from '../../text/plainText.ts';
import type { Handler } from '../command.ts';
import { connect } from '../connection/connection.ts';
import type { feedbackExportCommand } from '../declarations/conversations.ts';
import { exits } from '../exits.ts';

export const exportFeedback: Handler<typeof feedbackExportCommand> = async () => {
  const { results } = await connect().conversations.feedback();
  for (const record of results) process.stdout.write(jsonLine(record));
  return exits.done;
};
