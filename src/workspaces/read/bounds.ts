// Limits for reading workspaces: sizes, times and concurrency.
import type { GateBounds } from '../../process/gate.ts';
import { kib, mib } from '../../validation/schema.ts';
import type { InspectionBounds } from './inside/request.ts';

export const inspectionBounds: InspectionBounds = {
  entriesMax: 10_000,
  fileBytesMax: mib,
  zipEntriesMax: 50_000,
  zipBytesMax: kib * mib,
  patchBytesMax: 64 * mib,
  gitAddressBytesMax: 2 * kib * mib,
};

/** Two files as JSON, in which a character can take six bytes, and a margin. */
export const answerBytesMax = 2 * 6 * mib + mib;
export const inspectionMsMax = 30_000;
export const downloadMs = 15 * 60_000;

/** Per process. The web UI reads several files at once, so some may wait. */
export const inspectionGate: GateBounds = {
  atOnceMax: 8,
  userAtOnceMax: 4,
  waitingMax: 128,
  userWaitingMax: 32,
};
/** Downloads take as long as their readers want, so none waits for another. */
export const downloadGate: GateBounds = { atOnceMax: 4, userAtOnceMax: 2, waitingMax: 0, userWaitingMax: 0 };
