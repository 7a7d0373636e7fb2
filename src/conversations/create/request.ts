// Converts a valid request to what is stored: a normal form, the first message and events, and a title.
import { loading, type ReplayedEvent, userMessage } from '../../events/shapes.ts';
import type { NewEvent } from '../../events/vocabulary/vocabulary.ts';
import type { GitProvider } from '../../git/providers.ts';
import { type McpConfig, normaliseMcp } from '../../mcp/schema.ts';
import { unsentImages } from './images.ts';
import { microagentPrompt, taskPrompt } from './prompts.ts';
import { isEmptyReplay, readReplay } from './replay.ts';
import type { CreateConversation, CreateMicroagent, SuggestedTask, WorkspacePatch } from './schema.ts';

const titleCharsMax = 30;
const titleIdChars = 5;
/** Text that needs no clean-up. */
const plainWords = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/;
/** Enough text to find that many characters in. */
const titleScanCharsMax = 1_000;

export type Trigger = 'gui' | 'openhands_api' | 'suggested_task' | 'microagent_management';

/** The request without nulls and short forms. The fields are always in this order. */
export interface NormalRequest {
  readonly repository?: string;
  readonly git_provider?: GitProvider;
  readonly selected_branch?: string;
  readonly initial_user_msg?: string;
  readonly image_urls?: readonly string[];
  readonly suggested_task?: SuggestedTask;
  readonly create_microagent?: CreateMicroagent;
  readonly conversation_instructions?: string;
  readonly mcp_config?: McpConfig;
  /** Newer fields come last, so that requests without them have the same fingerprint as before. */
  readonly agent?: string;
  readonly llm_model?: string;
  readonly workspace_patch?: WorkspacePatch;
  readonly local_folder?: string;
  readonly confirmation_mode?: boolean;
  readonly client_folder?: string;
}

function normaliseMicroagent({ repo, git_provider, title }: CreateMicroagent): CreateMicroagent {
  return { repo, ...(git_provider != null && { git_provider }), ...(title != null && { title }) };
}

function normaliseTask({ git_provider, task_type, repo, issue_number, title }: SuggestedTask): SuggestedTask {
  return { git_provider, task_type, repo, issue_number, title };
}

function normalisePatch({ base_commit, patch }: WorkspacePatch): WorkspacePatch {
  return { ...(base_commit != null && { base_commit }), patch };
}

/** Field by field, because this runs for every creation. */
export function normaliseRequest(sent: CreateConversation): NormalRequest {
  const request: { -readonly [Name in keyof NormalRequest]: NormalRequest[Name] } = {};
  if (sent.repository != null) request.repository = sent.repository;
  if (sent.git_provider != null) request.git_provider = sent.git_provider;
  if (sent.selected_branch != null) request.selected_branch = sent.selected_branch;
  if (sent.initial_user_msg != null) request.initial_user_msg = sent.initial_user_msg;
  if (sent.image_urls?.length) request.image_urls = sent.image_urls;
  if (sent.suggested_task != null) request.suggested_task = normaliseTask(sent.suggested_task);
  if (sent.create_microagent != null) request.create_microagent = normaliseMicroagent(sent.create_microagent);
  if (sent.conversation_instructions != null)
    request.conversation_instructions = sent.conversation_instructions;
  if (sent.mcp_config != null) request.mcp_config = normaliseMcp(sent.mcp_config);
  if (sent.agent) request.agent = sent.agent;
  if (sent.llm_model) request.llm_model = sent.llm_model;
  if (sent.workspace_patch != null) request.workspace_patch = normalisePatch(sent.workspace_patch);
  if (sent.local_folder) request.local_folder = sent.local_folder;
  if (sent.confirmation_mode != null) request.confirmation_mode = sent.confirmation_mode;
  if (sent.client_folder) request.client_folder = sent.client_folder;
  return request;
}

/** The events that the log starts with, as they were sent; undefined if there are none. */
export function replayOf({ replay_json }: CreateConversation): string | undefined {
  return replay_json == null || isEmptyReplay(replay_json) ? undefined : replay_json;
}

/** The text that is fingerprinted. It is equal exactly if two requests ask for the same. */
export function fingerprintText(request: NormalRequest, replay: string | undefined): string {
  const text = JSON.stringify(request);
  return replay === undefined ? text : `${text}\n${replay}`;
}

/** The subject of the request, from its task or microagent. */
export function subjectOf(request: NormalRequest, viaBearer: boolean) {
  const { suggested_task: task, create_microagent: microagent } = request;
  const about = task ?? microagent;
  const trigger: Trigger = task
    ? 'suggested_task'
    : microagent
      ? 'microagent_management'
      : viaBearer
        ? 'openhands_api'
        : 'gui';
  return {
    trigger,
    repository: request.repository ?? about?.repo ?? null,
    branch: request.selected_branch ?? null,
    gitProvider: request.git_provider ?? about?.git_provider ?? null,
  };
}

/** The text of the first message: the task's prompt, then the user's text. Empty if there is neither. */
export function firstMessage({ suggested_task, create_microagent, initial_user_msg }: NormalRequest): string {
  const prompt = suggested_task
    ? taskPrompt(suggested_task)
    : create_microagent
      ? microagentPrompt(create_microagent)
      : '';
  if (initial_user_msg === undefined || initial_user_msg === '') return prompt;
  return prompt === '' ? initial_user_msg : `${prompt}\n\n${initial_user_msg}`;
}

export function firstEvents(
  message: string,
  request: NormalRequest,
  replay: string | undefined,
): (NewEvent | ReplayedEvent)[] {
  const images = request.image_urls ?? [];
  const events: (NewEvent | ReplayedEvent)[] = replay === undefined ? [] : readReplay(replay);
  if (message !== '' || images.length > 0) events.push(userMessage(message, images), ...unsentImages(images));
  events.push(loading);
  return events;
}

/** The first words of the message, or the start of the id if there is no message yet. */
export function titleOf(message: string, id: string): string {
  const start = message.slice(0, titleCharsMax + 1);
  if (plainWords.test(start))
    return start.length <= titleCharsMax ? start : `${start.slice(0, titleCharsMax)}...`;
  const line = message.trimStart().slice(0, titleScanCharsMax).replace(/\s+/g, ' ').trim();
  if (line === '') return `Conversation ${Array.from(id).slice(0, titleIdChars).join('')}`;
  if (line.length <= titleCharsMax) return line;
  const chars = Array.from(line);
  return chars.length > titleCharsMax ? `${chars.slice(0, titleCharsMax).join('')}...` : line;
}
