// Reads the workspaces of conversations. The service never reads them itself: a program in a sandbox without network
// does.
import type { Readable } from 'node:stream';
import { type ConversationName, conversationName, noConversation } from '../../conversations/id.ts';
import { findConversation } from '../../conversations/list/store.ts';
import type { Tables } from '../../db/tables.ts';
import type { Database } from '../../db/transaction.ts';
import type { Principal } from '../../keys/principal.ts';
import { createGate } from '../../process/gate.ts';
import type { OpenSandbox } from '../../sandbox/openSandbox.ts';
import { withoutWorkspace } from '../paths.ts';
import { downloadGate, inspectionBounds, inspectionGate } from './bounds.ts';
import { download } from './download.ts';
import type { Download, Inspection, InspectionBounds, InstructionFile } from './inside/request.ts';
import { inspectWorkspace } from './inspect.ts';
import { toMicroagents } from './microagents.ts';
import { noWorkspace } from './refusals.ts';
import type { GitChange, GitDiff, PatchQuery, SelectedFile } from './schema.ts';

/** Opens a sandbox without network on the workspace of a conversation; undefined if it has none on this machine. */
type OpenWorkspace = (conversationKey: number, name: ConversationName) => Promise<OpenSandbox | undefined>;

/** Opens one on the files of its last snapshot; undefined if it has none. */
type OpenSnapshot = (
  conversation: Pick<Tables['conversations'], 'repository' | 'git_provider'> & { readonly key: number },
  name: ConversationName,
) => Promise<OpenSandbox | undefined>;

interface WorkspacesOptions {
  readonly database: Database;
  readonly openWorkspace: OpenWorkspace;
  readonly openSnapshot?: OpenSnapshot | undefined;
  readonly bounds?: Partial<InspectionBounds>;
}

/** The caller and the conversation, until the signal says that nobody waits any more. */
export interface WorkspaceRequest {
  readonly principal: Principal;
  readonly id: string;
  readonly signal: AbortSignal;
  /** The machine that has the workspace is gone. */
  readonly isNodeGone?: boolean;
}

const busy = 'Too many requests are reading workspaces; try again.';

export type Workspaces = ReturnType<typeof createWorkspaces>;

/** `src/`, `./src` and `/workspace/src` are the folder `src`, and an empty path is the workspace. */
function normalised(path: string): string {
  const parts = withoutWorkspace(path)
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  return parts.length === 0 ? '.' : parts.join('/');
}

export function createWorkspaces(options: WorkspacesOptions) {
  const { database, openWorkspace, openSnapshot, bounds: given } = options;
  const bounds = { ...inspectionBounds, ...given };
  const inspections = createGate(inspectionGate, busy);
  const downloads = createGate(downloadGate, busy);
  const open = new Set<OpenSandbox>();

  async function openSandboxFor({ principal, id, isNodeGone }: WorkspaceRequest): Promise<OpenSandbox> {
    const name = conversationName(principal, id);
    const found = await database.run(findConversation, name);
    if (found === undefined) throw noConversation();
    const local = isNodeGone ? undefined : await openWorkspace(found.key, name);
    const sandbox = local ?? (await openSnapshot?.(found, name));
    if (sandbox === undefined) throw noWorkspace();
    open.add(sandbox);
    return sandbox;
  }

  async function closeSandbox(sandbox: OpenSandbox): Promise<void> {
    await sandbox.close().finally(() => open.delete(sandbox));
  }

  async function runInspection(asking: WorkspaceRequest, what: Inspection): Promise<unknown> {
    const leaveGate = await inspections.enter(asking.principal.userId, asking.signal);
    try {
      const sandbox = await openSandboxFor(asking);
      return await inspectWorkspace(sandbox, what, bounds, asking.signal).finally(() =>
        closeSandbox(sandbox),
      );
    } finally {
      leaveGate();
    }
  }

  async function startDownload(asking: WorkspaceRequest, what: Download): Promise<Readable> {
    const leaveGate = await downloads.enter(asking.principal.userId, asking.signal);
    let sandbox: OpenSandbox | undefined;
    const end = () => {
      const left = sandbox === undefined ? Promise.resolve() : closeSandbox(sandbox);
      // Nobody awaits this; processes that could not be ended are reported where sandboxes are closed.
      left.then(leaveGate, leaveGate);
    };
    try {
      sandbox = await openSandboxFor(asking);
      return await download(sandbox, what, bounds, asking.signal, end);
    } catch (error) {
      end();
      throw error;
    }
  }

  return {
    changes: async (asking: WorkspaceRequest) =>
      (await runInspection(asking, { command: 'changes' })) as GitChange[],
    diff: async (asking: WorkspaceRequest, path: string) =>
      (await runInspection(asking, { command: 'diff', path: normalised(path) })) as GitDiff,
    list: async (asking: WorkspaceRequest, path: string) =>
      (await runInspection(asking, { command: 'list', path: normalised(path) })) as string[],
    read: async (asking: WorkspaceRequest, path: string) =>
      (await runInspection(asking, { command: 'read', path: normalised(path) })) as SelectedFile,
    microagents: async (asking: WorkspaceRequest) =>
      toMicroagents((await runInspection(asking, { command: 'microagents' })) as InstructionFile[]),
    archive: (asking: WorkspaceRequest) => startDownload(asking, { command: 'zip' }),
    patch: (asking: WorkspaceRequest, from: PatchQuery['from'] = 'base') =>
      startDownload(asking, { command: 'patch', from }),
    /** Ends all inspections. */
    close: async () => {
      await Promise.all([...open].map(closeSandbox));
    },
  };
}
