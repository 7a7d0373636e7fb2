// A conversation that somebody is about to begin: what was typed, what is sent, and what is said against it.
import type { CreateConversation, McpConfig } from '../../../src/client/parley.ts';
import { mayBeRepository } from '../../../src/git/repositoryPaths.ts';
import type { PickedImage } from '../parts/images.ts';
import { holdsSecrets } from '../settings/tools/servers.ts';
import { fromUsual, NoCounterpart } from '../settings/tools/usualServers.ts';
import type { Texts } from '../texts/en.ts';
import { faultsAt, isOnlyAt } from '../texts/errors.ts';

export interface Draft {
  readonly message: string;
  readonly images: readonly PickedImage[];
  readonly repository: string;
  readonly branch: string;
  readonly instructions: string;
  readonly mcp: string;
  /** Undefined: that of the settings. */
  readonly agent: string | undefined;
  readonly open: boolean;
  /** Sent with every try, so that however many arrive there is one conversation. */
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
  open: false,
  idempotencyKey: '',
};

/** Keys of tool servers are kept nowhere. */
export function storableDraft(draft: Draft): Draft {
  return holdsSecrets(draft.mcp) ? { ...draft, mcp: '' } : draft;
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
  };
}

/** The fields that can say what is wrong with them, and what they are called where they are sent. */
const paths = {
  repository: 'repository',
  branch: 'selected_branch',
  agent: 'agent',
  instructions: 'conversation_instructions',
  mcp: 'mcp_config',
} as const;
type Field = keyof typeof paths;
const fields = Object.keys(paths) as Field[];
/** Shown only on demand. */
const folded: readonly Field[] = ['agent', 'instructions', 'mcp'];

export type Faults = { readonly [Name in Field]?: string | undefined };

interface Checked {
  readonly mcp: McpConfig | null;
  readonly faults: Faults;
}

/** What can be told before anything is sent: the tool servers, and what is wrong with which field. */
export function checkDraft({ repository, mcp }: Draft, texts: Texts['home']): Checked {
  const isFine = repository.trim() === '' || mayBeRepository(repository);
  const faults: Faults = isFine ? {} : { repository: texts.repositoryFault };
  if (mcp.trim() === '') return { mcp: null, faults };
  try {
    const parsed: unknown = JSON.parse(mcp);
    return { mcp: fromUsual(parsed)?.config ?? (parsed as McpConfig), faults };
  } catch (error) {
    const fault = error instanceof NoCounterpart ? texts.mcpForeign(error.message) : texts.mcpFault;
    return { mcp: null, faults: { ...faults, mcp: fault } };
  }
}

/** Those of fields that are as they were. */
export function unedited(faults: Faults, before: Draft, draft: Draft): Faults {
  return Object.fromEntries(
    fields
      .filter((field) => faults[field] !== undefined && draft[field] === before[field])
      .map((field) => [field, faults[field]]),
  );
}

/** What the service says against each field, for as long as it is as it was sent. */
export function faultsOf(error: unknown, sent: Draft | undefined, draft: Draft): Faults {
  const found = fields.map((field) => [
    field,
    sent !== undefined && draft[field] === sent[field] ? faultsAt(error, paths[field]) : undefined,
  ]);
  return Object.fromEntries(found) as Faults;
}

/** Whether a field has to be unfolded to be seen. */
export function isFolded(error: unknown): boolean {
  return folded.some((field) => faultsAt(error, paths[field]) !== undefined);
}

/** The same of what was told before anything was sent. */
export function someFolded(faults: Faults): boolean {
  return folded.some((field) => faults[field] !== undefined);
}

/** The error, unless all of it is said at fields. */
export function besideFields(error: unknown): unknown {
  return isOnlyAt(error, Object.values(paths)) ? undefined : error;
}
