// Checks uploaded files while they are read: how many there are, how large they are, and what is free on the disk.
import { AppError } from '../../errors.ts';
import { type DiskRoom, type FreeMin, findDiskFault } from '../../sandbox/diskWatch.ts';
import { mib } from '../../validation/schema.ts';
import { fileBytesMax, filesMax, freeCheckedBytes, requestBytesMax } from './bounds.ts';
import type { NewFile } from './frames.ts';
import { nameFault, shownName } from './names.ts';
import type { SkippedFile } from './schema.ts';

export interface UploadBounds {
  readonly fileBytesMax: number;
  readonly requestBytesMax: number;
  readonly filesMax: number;
}

export const uploadBounds: UploadBounds = { fileBytesMax, requestBytesMax, filesMax };

interface LimitsOptions {
  readonly bounds: UploadBounds;
  /** What the conversation may still store. */
  readonly room: DiskRoom;
  /** The folder whose file system must keep some space free. */
  readonly folder: string;
  readonly freeMin: FreeMin;
}

const inMib = (bytes: number) => `${Math.floor(bytes / mib)} MiB`;

function tooLarge(what: string, max: number): AppError {
  return new AppError('body_too_large', `${what} larger than ${inMib(max)}; nothing was stored.`);
}

export function tooManyFiles(max: number): AppError {
  return new AppError('body_too_large', `A request may have ${max} files; nothing was stored.`);
}

const noRoom = (what: string) =>
  new AppError(
    'limit_reached',
    `The workspace has no room for ${what}; nothing was stored. Delete files, or ask the operator to raise PARLEY_WORKSPACE_MB or PARLEY_WORKSPACE_FILES.`,
  );

/** Throws if the disk is nearly full. */
export async function checkFree(folder: string, freeMin: FreeMin): Promise<void> {
  const fault = await findDiskFault(folder, freeMin);
  if (fault !== undefined) throw new AppError('limit_reached', fault);
}

/** Passes files on until a limit is reached, which throws. `skipped` gets those whose names are not accepted. */
export function limitFiles(files: AsyncIterable<NewFile>, options: LimitsOptions) {
  const { bounds, room, folder, freeMin } = options;
  const skipped: SkippedFile[] = [];
  let count = 0;
  let bytes = 0;
  let checkedAt = 0;

  async function* limitContent(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let fileBytes = 0;
    for await (const piece of content) {
      fileBytes += piece.length;
      bytes += piece.length;
      if (fileBytes > bounds.fileBytesMax) throw tooLarge('A file is', bounds.fileBytesMax);
      if (bytes > bounds.requestBytesMax) throw tooLarge('The files are together', bounds.requestBytesMax);
      if (bytes > room.bytes) throw noRoom('these files');
      if (bytes - checkedAt > freeCheckedBytes) {
        checkedAt = bytes;
        await checkFree(folder, freeMin);
      }
      yield piece;
    }
  }

  async function* accepted(): AsyncGenerator<NewFile> {
    for await (const { name: sent, content } of files) {
      const name = sent.normalize('NFC');
      const reason = nameFault(name);
      count += 1;
      if (count > bounds.filesMax) throw tooManyFiles(bounds.filesMax);
      if (count > room.files) throw noRoom('so many files');
      if (reason === undefined) yield { name, content: limitContent(content) };
      else {
        skipped.push({ name: shownName(sent), reason });
        // What is skipped is read and counted, too.
        for await (const _ of limitContent(content));
      }
    }
  }

  return { files: accepted(), skipped, count: () => count };
}
