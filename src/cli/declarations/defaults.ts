// The commands about the operator's default settings, over HTTP or with the local database.
import { type CommandGroup, declare } from '../command.ts';

const topics = ['connection'] as const;
const nameArgument = { name: 'name', help: 'The name of a setting, such as llm_model.' } as const;

export const defaultsGetCommand = declare({
  name: 'defaults get',
  summary: 'Print the default settings, or one of them, as JSON',
  description: 'Prints the default settings as JSON, or one of them. API keys are never shown.',
  arguments: [{ ...nameArgument, optional: true }],
  options: {},
  examples: ['defaults get', 'defaults get llm_model'],
  topics,
});

export const defaultsSetCommand = declare({
  name: 'defaults set',
  summary: 'Change a default setting',
  description:
    'Changes a default setting. The API keys (llm_api_key, search_api_key) are read only from standard input, so that they never appear in a process list or in the history of a shell. At a terminal you are asked for an API key and it is not shown.\n\nModel, base URL and API key belong together: they apply to users without an API key and base URL of their own whose model, if they have chosen one, is of the same provider.',
  arguments: [
    nameArgument,
    {
      name: 'value',
      help: 'JSON, or plain text. null clears the setting. Without a value, it is read from standard input.',
      optional: true,
    },
  ],
  options: {},
  examples: ['defaults set llm_model anthropic/claude-sonnet-4-5', 'defaults set llm_api_key < key.txt'],
  topics,
});

export const defaultsGroup: CommandGroup = {
  name: 'defaults',
  summary: 'Read and write the default settings of all users',
  description:
    'Reads and writes the settings of users who have not set their own, with an API key for their models. Over HTTP your API key needs the scope admin. A running service applies a change within a second.',
  commands: [defaultsGetCommand, defaultsSetCommand],
};
