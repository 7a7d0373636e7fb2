// `parley new`: starts a conversation.
import { parseArgs } from 'node:util';
import type { CreateConversation, Parley, ParleyError } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { connectionHelp, exitHelp, exits, followExitHelp, outputHelp } from '../exits.ts';
import { followConversation, followOptions } from '../following.ts';
import { readImage, readMcpFile, readMessage } from '../inputs.ts';
import { causeOf } from '../terminal/faults.ts';
import { createOutput, type Output } from '../terminal/output.ts';
import { plainLine } from '../terminal/plainText.ts';
import { shellWord } from '../terminal/shellWord.ts';

const help = `Usage: ${commandName} new "MESSAGE" [options]
       ${commandName} new [options] [-] < FILE

Starts a conversation with a first message, and prints its id. It is stored before the id is printed; sent again
by itself where the network fails, it is still one conversation.

  --repo OWNER/NAME    the repository to work on
  --branch NAME        the branch to begin with
  --provider NAME      where the repository is: github, gitlab or bitbucket (default: github)
  --image FILE|URL     an image to look at; may be given several times
  --agent NAME         who does the work; it becomes your setting, also for what starts later
  --instructions TEXT  standing instructions for the agent
  --mcp FILE           tool servers for this conversation: a JSON file with an mcp_config
  --id ID              an id of your own; the same command twice is one conversation
  -f, --follow         shows what happens until the agent waits for you
  --full               shows outputs whole
  --json, --text       output for programs, for people

${connectionHelp}${outputHelp}
${exitHelp}${followExitHelp}
Example: ${commandName} new "Fix the failing test" --repo acme/shop --follow
`;

function parse(argv: readonly string[]) {
  return parseArgs({
    args: [...argv],
    options: {
      ...followOptions,
      repo: { type: 'string' },
      branch: { type: 'string' },
      provider: { type: 'string' },
      image: { type: 'string', multiple: true, default: [] },
      instructions: { type: 'string' },
      mcp: { type: 'string' },
      id: { type: 'string' },
      agent: { type: 'string' },
    },
    allowPositionals: true,
  });
}

async function toRequest({ values, positionals }: ReturnType<typeof parse>): Promise<CreateConversation> {
  const { repo, branch, provider, image, instructions, mcp, id } = values;
  return {
    initial_user_msg: await readMessage(positionals),
    ...(repo === undefined ? {} : { repository: repo }),
    ...(branch === undefined ? {} : { selected_branch: branch }),
    // The service knows which there are.
    ...(provider === undefined ? {} : { git_provider: provider as 'github' }),
    ...(image.length === 0 ? {} : { image_urls: image.map(readImage) }),
    ...(instructions === undefined ? {} : { conversation_instructions: instructions }),
    ...(mcp === undefined ? {} : { mcp_config: readMcpFile(mcp) }),
    ...(id === undefined ? {} : { conversation_id: id }),
  };
}

function tellOnce({ note }: Output): (fault: ParleyError) => void {
  let told = false;
  return (fault) => {
    if (!told) note(`${plainLine(fault.message)}${causeOf(fault)} Trying again …\n`);
    told = true;
  };
}

/** It is a setting, and stays: a creation cannot name it. */
async function chooseAgent(parley: Parley, agent: string, { note }: Output): Promise<void> {
  const known = await parley.options.agents();
  if (!known.includes(agent)) throw new RefusalError(`--agent must be one of ${known.join(', ')}.`);
  if ((await parley.settings.get()).agent === agent) return;
  await parley.settings.update({ agent });
  note(`The agent of your settings is ${agent} now, also for what starts later.\n`);
}

async function run(argv: readonly string[]): Promise<number> {
  const parsed = parse(argv);
  const { follow, full, agent } = parsed.values;
  const output = createOutput(parsed.values);
  const request = await toRequest(parsed);
  const parley = connect();
  if (agent !== undefined) await chooseAgent(parley, agent, output);
  const made = await parley.conversations.create(request, { onRetry: tellOnce(output) });
  const id = made.conversation_id;
  if (output.isJson) output.json(made);
  else {
    output.text(`${output.style('bold', plainLine(id))}\n`);
    if (made.message !== null) output.note(`${plainLine(made.message)}\n`);
    if (!follow) output.note(output.style('dim', `Watch it with: ${commandName} follow ${shellWord(id)}\n`));
  }
  if (!follow) return exits.done;
  return followConversation({ parley, output, id, from: 0, stay: false, full });
}

export const newConversation: Command = { help, run };
