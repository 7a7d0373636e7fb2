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

/** Brings the files of its last snapshot to this machine, which may take a while; undefined if it has none. */
type PrepareSnapshot = (
  conversation: Pick<Tables['conversations'], 'repository' | 'git_provider'> & { readonly key: number },
  name: ConversationName,
  signal: AbortSignal,
) => Promise<PreparedSnapshot | undefined>;

export interface PreparedSnapshot {
  open(): Promise<OpenSandbox>;
  /** Must be called when nobody reads it any more; has an effect once. */
  leave(): void;
}

interface WorkspacesOptions {
  readonly database: Database;
  readonly openWorkspace: OpenWorkspace;
  readonly prepareSnapshot?: PrepareSnapshot | undefined;
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

type Gate = ReturnType<typeof createGate>;

/** An open sandbox in a slot of a gate. */
interface Reading {
  readonly sandbox: OpenSandbox;
  /** Ends its processes and leaves the slot. */
  close(): Promise<void>;
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
  const { database, openWorkspace, prepareSnapshot, bounds: given } = options;
  const bounds = { ...inspectionBounds, ...given };
  const inspections = createGate(inspectionGate, busy);
  const downloads = createGate(downloadGate, busy);
  const open = new Set<OpenSandbox>();

  /** Opens a sandbox in a slot of the gate. Undefined if there is nothing to open. */
  async function openIn(
    gate: Gate,
    { principal, signal }: WorkspaceRequest,
    openOne: () => Promise<OpenSandbox | undefined>,
    leave: () => void = () => {},
  ): Promise<Reading | undefined> {
    const leaveGate = await gate.enter(principal.userId, signal);
    const sandbox = await openOne().catch((error: unknown) => {
      leaveGate();
      throw error;
    });
    if (sandbox === undefined) {
      leaveGate();
      return undefined;
    }
    open.add(sandbox);
    const close = () =>
      sandbox.close().finally(() => {
        open.delete(sandbox);
        leave();
        leaveGate();
      });
    return { sandbox, close };
  }

  /** A snapshot is waited for outside of the gate, so that it keeps nobody from reading other files. */
  async function startReading(gate: Gate, asking: WorkspaceRequest): Promise<Reading> {
    const { principal, id, isNodeGone, signal } = asking;
    const name = conversationName(principal, id);
    const found = await database.run(findConversation, name);
    if (found === undefined) throw noConversation();
    const local = isNodeGone ? undefined : await openIn(gate, asking, () => openWorkspace(found.key, name));
    if (local !== undefined) return local;
    const snapshot = await prepareSnapshot?.(found, name, signal);
    try {
      const reading = snapshot && (await openIn(gate, asking, snapshot.open, snapshot.leave));
      if (reading === undefined) throw noWorkspace();
      return reading;
    } catch (error) {
      snapshot?.leave();
      throw error;
    }
  }

  async function runInspection(asking: WorkspaceRequest, what: Inspection): Promise<unknown> {
    const { sandbox, close } = await startReading(inspections, asking);
    return inspectWorkspace(sandbox, what, bounds, asking.signal).finally(close);
  }

  async function startDownload(asking: WorkspaceRequest, what: Download): Promise<Readable> {
    const { sandbox, close } = await startReading(downloads, asking);
    const end = () =>
      void close().catch(() => {
        // Processes that could not be ended are reported where sandboxes are closed.
      });
    try {
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
      await Promise.all([...open].map((sandbox) => sandbox.close()));
    },
  };
}
