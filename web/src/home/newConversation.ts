// A conversation that somebody is about to begin: what was typed, what is sent, and what is said against it.
import type { CreateConversation, McpConfig } from '../../../src/client/parley.ts';
import type { PickedImage } from '../parts/images.ts';
import { holdsSecrets } from '../settings/tools/servers.ts';
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

/** Undefined where it is no JSON. */
export function readMcp(text: string): McpConfig | null | undefined {
  if (text.trim() === '') return null;
  try {
    return JSON.parse(text) as McpConfig;
  } catch {
    return undefined;
  }
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

/** The error, unless all of it is said at fields. */
export function besideFields(error: unknown): unknown {
  return isOnlyAt(error, Object.values(paths)) ? undefined : error;
}
