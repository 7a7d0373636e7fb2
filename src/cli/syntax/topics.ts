// Help that applies to many commands, in one place: `parley help TOPIC`.
import { commandName } from '../../process/program.ts';
import type { TopicName } from '../command.ts';
import { formatRows } from './help.ts';

interface Topic {
  readonly summary: string;
  readonly text: () => string;
}

const exitCodeRows = [
  ['0', 'Success. While following: the agent has finished its turn and waits for you.'],
  ['1', 'Failure. While following: the agent failed. "doctor": something is wrong.'],
  ['2', 'Usage error, or the service does not accept the request.'],
  ['3', 'There is no such conversation or file.'],
  ['4', 'The service cannot be reached, or it refuses the API key.'],
  ['5', 'While following: the agent needs your approval.'],
  ['6', 'While following: the conversation was stopped or reached a limit.'],
  ['7', '"agents test": it could not be determined whether the agent asks for approval.'],
  ['130', 'You pressed Ctrl-C. The conversation continues.'],
  ['141', 'The reader of the output, such as head, has gone.'],
  ['143', 'The command was terminated by SIGTERM. The conversation continues.'],
] as const;

const connectionText = () => `Which service a command uses, in this order:

  1. the service at PARLEY_URL, or at PORT on this machine
  2. the current context: "${commandName} login URL" creates one, "${commandName} contexts" switches
  3. the running service that uses the data folder (PARLEY_DATA_DIR, default: ./data)
  4. http://127.0.0.1:3000

Which API key it sends:

  1. PARLEY_KEY
  2. the API key of the context, only to the URL of the context
  3. the owner's API key in the data folder, or in SESSION_API_KEY, only to this machine

PARLEY_URL, PARLEY_KEY, PORT, PARLEY_DATA_DIR, DATABASE_URL and SESSION_API_KEY win over the
current context.

The commands "settings", "keys" and "webhooks" use HTTP if PARLEY_URL or a context names a
service. Otherwise, and with "settings --user", they work on the local database: in the data
folder, or at DATABASE_URL. "users", "audit" and "secrets" always do.
`;

const outputText =
  () => `Commands print text for people, also in a pipe. With --json they print JSON, one object per
line: the same objects as the HTTP API. Colours are used only on a terminal, and not if NO_COLOR
is set.

Hints and progress go to standard error.

Control characters in text from agents, repositories and models are shown in a visible form,
such as ␛, so that they cannot control the terminal.

  ${commandName} list --json --limit all | jq -r 'select(.status == "RUNNING") | .title'
`;

export const topics: Readonly<Record<TopicName, Topic>> = {
  connection: { summary: 'Which service and which API key a command uses', text: connectionText },
  output: { summary: 'Text, JSON and colours', text: outputText },
  'exit-codes': {
    summary: 'What the exit codes mean',
    text: () => `Exit codes:\n\n${formatRows(exitCodeRows)}\n`,
  },
};

export function isTopic(word: string): word is TopicName {
  return Object.hasOwn(topics, word);
}
