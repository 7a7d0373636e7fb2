// Takes uploaded files for the workspaces of conversations. Only a program in a sandbox writes there. Files for a
// conversation that is not running wait in the data folder of the node that received them.
import { type ConversationName, conversationName, noConversation } from '../../conversations/id.ts';
import { findConversation } from '../../conversations/list/store.ts';
import { filesTopic } from '../../db/topics.ts';
import type { Database } from '../../db/transaction.ts';
import { AppError, invalid } from '../../errors.ts';
import type { Principal } from '../../keys/principal.ts';
import { createGate } from '../../process/gate.ts';
import { type DiskLimits, findDiskRoom } from '../../sandbox/diskWatch.ts';
import type { OpenSandbox } from '../../sandbox/openSandbox.ts';
import { workspacePath } from '../paths.ts';
import type { ConversationFolders } from '../prepare/folders.ts';
import { stagedBytesMax, stagedFilesMax, uploadGate, userStagedBytesMax } from './bounds.ts';
import { type NewFile, toFrames } from './frames.ts';
import type { WrittenFile } from './inside/request.ts';
import { checkFree, limitFiles, type UploadBounds, uploadBounds } from './limits.ts';
import type { SkippedFile, Upload } from './schema.ts';
import type { Staging } from './staging.ts';
import { listUploads, recordUpload, removeUpload } from './store.ts';
import { writeFiles } from './writeFiles.ts';

/** A conversation, and the key of its folders. */
export interface UploadTarget extends ConversationName {
  readonly key: number;
}

interface UploadsOptions {
  readonly database: Database;
  readonly nodeId: string;
  readonly staging: Staging;
  readonly disk: DiskLimits;
  /** The folders of a conversation on this machine; undefined if it has none. */
  readonly findFolders: (target: UploadTarget) => Promise<ConversationFolders | undefined>;
  /** Opens a sandbox without network on the workspace; undefined if it has none on this machine. */
  readonly openWorkspace: (target: UploadTarget) => Promise<OpenSandbox | undefined>;
  /** The frames of an upload that waits on another node; undefined if it is gone. Throws if the node cannot be reached. */
  readonly fetchFrames: (
    target: UploadTarget,
    upload: { readonly id: string; readonly nodeId: string },
  ) => Promise<AsyncIterable<Buffer> | undefined>;
  readonly nextId: () => string;
  readonly bounds?: UploadBounds;
}

export interface UploadRequest {
  readonly principal: Principal;
  readonly id: string;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
  readonly files: AsyncIterable<NewFile>;
}

/** What happened to the files that waited for a conversation. */
export interface Delivery {
  /** Files whose names were taken. */
  readonly renamed: readonly WrittenFile[];
  /** How many uploads could not be fetched from another node. */
  readonly unreachable: number;
}

const busy = 'Too many uploads at once; try again.';
const tooMuchWaits = new AppError(
  'limit_reached',
  'Too many uploaded files wait for conversations to start; nothing was stored. Start them first.',
);

export type Uploads = ReturnType<typeof createUploads>;

export function createUploads(options: UploadsOptions) {
  const { database, nodeId, staging, disk, findFolders, openWorkspace, fetchFrames, nextId } = options;
  const { bounds = uploadBounds } = options;
  const gate = createGate(uploadGate, busy);
  const open = new Set<OpenSandbox>();

  async function write(target: UploadTarget, frames: AsyncIterable<Buffer>): Promise<readonly WrittenFile[]> {
    const sandbox = await openWorkspace(target);
    if (sandbox === undefined) throw new Error('the workspace is gone');
    open.add(sandbox);
    try {
      return await writeFiles(sandbox, frames);
    } finally {
      await sandbox.close().finally(() => open.delete(sandbox));
      // The run may be in another process of this machine.
      database.notify([filesTopic(target.key)]);
    }
  }

  function answer(
    names: readonly WrittenFile[],
    skipped: readonly SkippedFile[],
    staged: boolean,
    count: number,
  ): Upload {
    if (count === 0) throw invalid([{ path: 'files', message: 'must contain at least one file' }]);
    const files = names.map(({ sent, name }) => ({ name: sent, path: workspacePath(name) }));
    return { files, skipped: [...skipped], staged };
  }

  async function writeNow(
    target: UploadTarget,
    { workspace, home, isLocal }: ConversationFolders,
    { files, signal }: UploadRequest,
  ): Promise<Upload> {
    // How large a local folder is, is the business of its user.
    const room = await findDiskRoom(isLocal ? [home] : [workspace, home], disk, signal);
    const limited = limitFiles(files, { bounds, room, folder: workspace, freeMin: disk });
    const written = await write(target, toFrames(limited.files));
    return answer(written, limited.skipped, false, limited.count());
  }

  async function stage(name: ConversationName, { files }: UploadRequest): Promise<Upload> {
    const folder = await staging.ensureTop();
    await checkFree(folder, disk);
    const room = { bytes: disk.bytesMax, files: disk.filesMax };
    const limited = limitFiles(files, { bounds, room, folder, freeMin: disk });
    const uploadId = nextId();
    const { names, bytes } = await staging.store(uploadId, limited.files);
    try {
      const sent = names.map((name) => ({ sent: name, name }));
      const response = answer(sent, limited.skipped, true, limited.count());
      if (names.length === 0) {
        await staging.remove(uploadId);
        return response;
      }
      const limits = { filesMax: stagedFilesMax, bytesMax: stagedBytesMax, userBytesMax: userStagedBytesMax };
      const upload = { ...name, uploadId, nodeId, files: names.length, bytes, ...limits };
      const outcome = await database.run(recordUpload, upload);
      if (outcome === 'missing') throw noConversation();
      if (outcome === 'too_much') throw tooMuchWaits;
      return response;
    } catch (error) {
      // If it was recorded nevertheless, the run finds that its files are gone.
      await staging.remove(uploadId);
      throw error;
    }
  }

  async function findTarget(principal: Principal, id: string) {
    const name = conversationName(principal, id);
    const found = await database.run(findConversation, name);
    if (found === undefined) throw noConversation();
    return { target: { ...name, key: found.key }, isRunning: found.status === 'RUNNING' };
  }

  /** Stores all files or none. Throws errors of the files, and errors for callers. */
  async function upload(request: UploadRequest): Promise<Upload> {
    const { principal, id, signal } = request;
    const leaveGate = await gate.enter(principal.userId, signal);
    try {
      const { target, isRunning } = await findTarget(principal, id);
      const folders = isRunning ? await findFolders(target) : undefined;
      return folders === undefined ? await stage(target, request) : await writeNow(target, folders, request);
    } finally {
      leaveGate();
    }
  }

  async function framesOf(target: UploadTarget, id: string, uploadNode: string) {
    if (uploadNode !== nodeId) return fetchFrames(target, { id, nodeId: uploadNode });
    const files = await staging.open(id);
    return files && toFrames(files);
  }

  /** Puts files that wait into the workspace of a conversation that this process runs. */
  async function deliver(target: UploadTarget): Promise<Delivery> {
    const renamed: WrittenFile[] = [];
    let unreachable = 0;
    for (const { id, node_id } of await database.run(listUploads, target.key)) {
      const frames = await framesOf(target, id, node_id).catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error;
        unreachable += 1;
        return 'unreachable' as const;
      });
      if (frames === 'unreachable') continue;
      if (frames !== undefined) {
        const written = await write(target, frames);
        renamed.push(...written.filter(({ sent, name }) => sent !== name));
      }
      // A repetition after a crash finds the same files and changes nothing.
      await database.run(removeUpload, id);
      if (node_id === nodeId) await staging.remove(id);
    }
    return { renamed, unreachable };
  }

  /** The frames of an upload that waits here, for another node. Undefined if it is not here. */
  async function readFrames(principal: Principal, id: string, uploadId: string) {
    const { target } = await findTarget(principal, id);
    const waiting = await database.run(listUploads, target.key);
    if (!waiting.some((upload) => upload.id === uploadId)) return undefined;
    return framesOf(target, uploadId, nodeId);
  }

  return {
    upload,
    deliver,
    readFrames,
    isRunning: async (principal: Principal, id: string) => (await findTarget(principal, id)).isRunning,
    /** Ends all uploads. */
    close: async () => {
      await Promise.all([...open].map((sandbox) => sandbox.close()));
    },
  };
}
