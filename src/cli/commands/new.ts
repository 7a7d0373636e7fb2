// `parley new` and `parley run`: start a conversation.
import type { CreateConversation, ParleyError } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { plainLine, shellWord } from '../../text/plainText.ts';
import type { Handler, Parsed } from '../command.ts';
import { connect } from '../connection/connection.ts';
import type { newCommand, runCommand } from '../declarations/conversations.ts';
import { exits } from '../exits.ts';
import { realFolder } from '../folders/folderLocation.ts';
import { prepareFolder } from '../folders/prepareFolder.ts';
import { followConversation } from '../follow.ts';
import { readImage, readMcpFile, readMessage } from '../inputs.ts';
import { causeOf } from '../terminal/faults.ts';
import { createOutput, type Output } from '../terminal/output.ts';

type ParsedNew = Parsed<typeof newCommand>;

/** The fields that a local folder determines. */
async function carryFolder({ options }: ParsedNew, { note }: Output): Promise<Partial<CreateConversation>> {
  const { folder, local, repo, branch, provider } = options;
  if (folder === undefined && local) throw new RefusalError('--local needs a --folder.');
  if (folder === undefined) return {};
  if (repo !== undefined || branch !== undefined || provider !== undefined)
    throw new RefusalError(
      '--folder determines the repository and the branch; leave out --repo, --branch and --provider.',
    );
  if (local) return { local_folder: realFolder(folder), client_folder: realFolder(folder) };
  const { creation, notes } = await prepareFolder(folder);
  for (const sentence of notes) note(`${sentence}\n`);
  return creation;
}

async function toRequest(parsed: ParsedNew, output: Output): Promise<CreateConversation> {
  const { options, args } = parsed;
  const { repo, branch, provider, image, instructions, mcp, id, agent, model, confirm } = options;
  const initial_user_msg = await readMessage(args.message);
  return {
    ...(await carryFolder(parsed, output)),
    initial_user_msg,
    ...(repo === undefined ? {} : { repository: repo }),
    ...(branch === undefined ? {} : { selected_branch: branch }),
    ...(provider === undefined ? {} : { git_provider: provider }),
    ...(image.length === 0 ? {} : { image_urls: image.map(readImage) }),
    ...(instructions === undefined ? {} : { conversation_instructions: instructions }),
    ...(mcp === undefined ? {} : { mcp_config: readMcpFile(mcp) }),
    ...(id === undefined ? {} : { conversation_id: id }),
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : { llm_model: model }),
    ...(confirm === undefined ? {} : { confirmation_mode: confirm === 'on' }),
  };
}

function noteFirstRetry({ note }: Output): (error: ParleyError) => void {
  let isNoted = false;
  return (error) => {
    if (!isNoted) note(`${plainLine(error.message)}${causeOf(error)} Retrying …\n`);
    isNoted = true;
  };
}

export const newConversation: Handler<typeof newCommand> = async (parsed) => {
  const { follow, full, partials } = parsed.options;
  const output = createOutput(parsed.options);
  const request = await toRequest(parsed, output);
  const parley = connect();
  const created = await parley.conversations.create(request, { onRetry: noteFirstRetry(output) });
  const id = created.conversation_id;
  if (output.isJson) output.json(created);
  else {
    output.text(`${output.style('bold', plainLine(id))}\n`);
    if (created.message !== null) output.note(`${plainLine(created.message)}\n`);
    if (!follow) output.note(output.style('dim', `Follow it with: ${commandName} follow ${shellWord(id)}\n`));
  }
  if (!follow) return exits.done;
  return followConversation({ parley, output, id, from: 0, stay: false, full, partials });
};

export const runConversation: Handler<typeof runCommand> = ({ options, args }) =>
  newConversation({ options: { ...options, follow: true }, args });
