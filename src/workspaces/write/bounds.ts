// Limits for uploads: sizes, times and concurrency.
import type { GateBounds } from '../../process/gate.ts';
import { mib } from '../../validation/schema.ts';

export const fileBytesMax = 256 * mib;
/** The files of one request together. */
export const requestBytesMax = 512 * mib;
export const filesMax = 100;
export const uploadMs = 15 * 60_000;

/** What waits in the data folder until conversations start. */
export const stagedFilesMax = 1_000;
export const stagedBytesMax = 1_024 * mib;
export const userStagedBytesMax = 4_096 * mib;

/** The free space is checked each time after so many bytes. */
export const freeCheckedBytes = 16 * mib;

/** Per process. Uploads take as long as their senders want, so none waits for another. */
export const uploadGate: GateBounds = { atOnceMax: 16, userAtOnceMax: 4, waitingMax: 0, userWaitingMax: 0 };
