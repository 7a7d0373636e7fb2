// `parley new` and `parley run`: start a conversation.
import { type CreateConversation, ParleyError } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { plainLine, shellWord } from '../../text/plainText.ts';
import type { Handler, Parsed } from '../command.ts';
import { connect } from '../connection/connection.ts';
import type { newCommand, runCommand } from '../declarations/conversations.ts';
import { exits } from '../exits.ts';
import { realFolder } from '../folders/folderLocation.ts';
import { prepareFolder, refusedRepository } from '../folders/prepareFolder.ts';
import { followConversation } from '../follow.ts';
import { readImage, readMcpFile, readMessage } from '../inputs.ts';
import { causeOf } from '../terminal/faults.ts';
import { createOutput, type Output } from '../terminal/output.ts';

type ParsedNew = Parsed<typeof newCommand>;

/** The fields that a local folder determines. */
interface CarriedFolder {
  readonly creation: Partial<CreateConversation>;
  readonly notes: readonly string[];
}

/** `refusal` is a sentence if the service has refused to clone the repository of the folder. */
async function carryFolder({ options }: ParsedNew, refusal?: string): Promise<CarriedFolder> {
  const { folder, local, repo, branch, provider } = options;
  if (folder === undefined && local) throw new RefusalError('--local needs a --folder.');
  if (folder === undefined) return { creation: {}, notes: [] };
  if (repo !== undefined || branch !== undefined || provider !== undefined)
    throw new RefusalError(
      '--folder determines the repository and the branch; leave out --repo, --branch and --provider.',
    );
  if (local)
    return { creation: { local_folder: realFolder(folder), client_folder: realFolder(folder) }, notes: [] };
  return prepareFolder(folder, refusal);
}

/** What the command line itself determines. */
async function toRequest({ options, args }: ParsedNew): Promise<CreateConversation> {
  const { repo, branch, provider, image, instructions, mcp, id, agent, model, confirm } = options;
  const initial_user_msg = await readMessage(args.message);
  return {
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

function refusesRepository(error: unknown): error is ParleyError {
  return error instanceof ParleyError && error.details.some(({ path }) => path === 'repository');
}

export const newConversation: Handler<typeof newCommand> = async (parsed) => {
  const { follow, full, partials } = parsed.options;
  const output = createOutput(parsed.options);
  const request = await toRequest(parsed);
  const parley = connect();
  const create = async (folder: CarriedFolder) => {
    const onRetry = noteFirstRetry(output);
    const created = await parley.conversations.create({ ...folder.creation, ...request }, { onRetry });
    for (const sentence of folder.notes) output.note(`${sentence}\n`);
    return created;
  };
  const carried = await carryFolder(parsed);
  const created = await create(carried).catch(async (error) => {
    if (carried.creation.repository === undefined || !refusesRepository(error)) throw error;
    return create(await carryFolder(parsed, refusedRepository(error.message)));
  });
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
