// The draft of a new conversation: its fields, the request that it becomes, and the errors of its fields.
import type { CreateConversation, McpConfig } from '../../../src/client/parley.ts';
import { mayBeRepository } from '../../../src/git/repositoryPaths.ts';
import type { PickedImage } from '../components/images.ts';
import { agentName } from '../session/agentNames.ts';
import { type ApprovalMode, confirmationMode } from '../session/approvalModes.ts';
import { fromMcpServersJson, UnsupportedField } from '../settings/mcpServers/mcpServersJson.ts';
import { hasUnstoredSecrets } from '../settings/mcpServers/servers.ts';
import type { Texts } from '../texts/en.ts';
import { fieldErrorAt, isOnlyAt } from '../texts/errors.ts';

export interface Draft {
  readonly message: string;
  readonly images: readonly PickedImage[];
  readonly repository: string;
  readonly branch: string;
  readonly instructions: string;
  readonly mcp: string;
  /** Undefined means the agent of the settings; empty is the built-in agent. */
  readonly agent: string | undefined;
  /** Empty means the model of the settings. */
  readonly model: string;
  readonly approval: ApprovalMode;
  readonly open: boolean;
  /** Sent with every attempt, so that retries create only one conversation. */
  readonly idempotencyKey: string;
}

export const emptyDraft: Draft = {
  message: '',
  images: [],
  repository: '',
  branch: '',
  instructions: '',
  mcp: '',
  agent: undefined,
  model: '',
  approval: '',
  open: false,
  idempotencyKey: '',
};

/** API keys of MCP servers must not be stored in the browser. */
export function storableDraft(draft: Draft): Draft {
  return hasUnstoredSecrets(draft.mcp) ? { ...draft, mcp: '' } : draft;
}

export function toRequest(draft: Draft, mcp: McpConfig | null): CreateConversation {
  const optional = (text: string) => (text.trim() === '' ? null : text.trim());
  return {
    initial_user_msg: draft.message.trim() === '' ? null : draft.message,
    image_urls: draft.images.length === 0 ? null : draft.images.map(({ url }) => url),
    repository: optional(draft.repository),
    selected_branch: optional(draft.branch),
    conversation_instructions: optional(draft.instructions),
    mcp_config: mcp,
    agent: draft.agent === undefined ? null : agentName(draft.agent),
    llm_model: optional(draft.model),
    // Drafts of an earlier version have none.
    confirmation_mode: confirmationMode(draft.approval ?? ''),
  };
}

/** The fields that can show an error, and their names in the request. */
const paths = {
  repository: 'repository',
  branch: 'selected_branch',
  agent: 'agent',
  model: 'llm_model',
  instructions: 'conversation_instructions',
  mcp: 'mcp_config',
} as const;
type Field = keyof typeof paths;
const fields = Object.keys(paths) as Field[];
/** These are collapsed at first. */
const hiddenFields: readonly Field[] = ['agent', 'model', 'instructions', 'mcp'];

export type FieldErrors = { readonly [Name in Field]?: string | undefined };

interface CheckedDraft {
  readonly mcp: McpConfig | null;
  readonly fieldErrors: FieldErrors;
}

/** Parses the MCP servers and finds the errors that need no request. */
export function checkDraft({ repository, mcp }: Draft, texts: Texts['home']): CheckedDraft {
  const isFine = repository.trim() === '' || mayBeRepository(repository);
  const fieldErrors: FieldErrors = isFine ? {} : { repository: texts.repositoryInvalid };
  if (mcp.trim() === '') return { mcp: null, fieldErrors };
  try {
    const parsed: unknown = JSON.parse(mcp);
    return { mcp: fromMcpServersJson(parsed)?.config ?? (parsed as McpConfig), fieldErrors };
  } catch (error) {
    const fieldError =
      error instanceof UnsupportedField ? texts.mcpUnsupported(error.message) : texts.mcpInvalid;
    return { mcp: null, fieldErrors: { ...fieldErrors, mcp: fieldError } };
  }
}

export function errorsOfUneditedFields(fieldErrors: FieldErrors, before: Draft, draft: Draft): FieldErrors {
  return Object.fromEntries(
    fields
      .filter((field) => fieldErrors[field] !== undefined && draft[field] === before[field])
      .map((field) => [field, fieldErrors[field]]),
  );
}

/** The service's errors of fields that have not been edited since they were sent. */
export function serviceFieldErrors(error: unknown, sent: Draft | undefined, draft: Draft): FieldErrors {
  const found = fields.map((field) => [
    field,
    sent !== undefined && draft[field] === sent[field] ? fieldErrorAt(error, paths[field]) : undefined,
  ]);
  return Object.fromEntries(found) as FieldErrors;
}

/** Whether the service reports an error of a collapsed field. */
export function hasHiddenFieldError(error: unknown): boolean {
  return hiddenFields.some((field) => fieldErrorAt(error, paths[field]) !== undefined);
}

/** The same for errors that were found before the request. */
export function hasHiddenField(fieldErrors: FieldErrors): boolean {
  return hiddenFields.some((field) => fieldErrors[field] !== undefined);
}

/** Returns the error unless fields show all of it. */
export function errorOutsideFields(error: unknown): unknown {
  return isOnlyAt(error, Object.values(paths)) ? undefined : error;
}
