// How much of a workspace is looked at, for how long, and by how many at once.
import { kib, mib } from '../../validation/schema.ts';
import type { GateBounds } from './gate.ts';
import type { InspectionBounds } from './inside/request.ts';

export const inspectionBounds: InspectionBounds = {
  entriesMax: 10_000,
  fileBytesMax: mib,
  zipEntriesMax: 50_000,
  zipBytesMax: kib * mib,
  gitAddressBytesMax: 2 * kib * mib,
};

/** Two files as JSON, in which a character can take six bytes, and some more. */
export const answerBytesMax = 2 * 6 * mib + mib;
export const inspectionMsMax = 30_000;
export const downloadMs = 15 * 60_000;

/** Of a process. A page asks for several files at once, so that some may wait. */
export const inspectionGate: GateBounds = {
  atOnceMax: 8,
  userAtOnceMax: 4,
  waitingMax: 128,
  userWaitingMax: 32,
};
/** They last as long as their readers want, so that none waits for another. */
export const downloadGate: GateBounds = { atOnceMax: 4, userAtOnceMax: 2, waitingMax: 0, userWaitingMax: 0 };
