// Limits of snapshots: sizes, times and concurrency.
import { kib, mib } from '../../validation/schema.ts';
import { frameBytesMax, pieceBytes } from './inside/sections.ts';

/** The size of one file; larger files are left out. */
export const fileBytesMax = 256 * mib;
export const gitAddressBytesMax = 2 * kib * mib;

/** How long the program inside may take to copy the files. */
export const copyMsMax = 2 * 60_000;
/** Copies that a process makes at the same time. */
export const copiesAtOnce = 4;
/** How long the next turn waits for the copy of the files after the last one; it never waits for the store. */
export const turnWaitMs = 3_000;
/** Files that the user changes between turns are copied when nothing has changed for so long… */
export const settleMs = 2_000;
/** …but not later than this after the first change… */
export const settleMsMax = 15_000;
/** …unless the last copy took so long that copies would take more than a tenth of the time. */
export const restFactor = 10;
/** How often a copy is made again because the repository was changed meanwhile. */
export const changedTriesMax = 3;
/** How long a run that has ended waits until its last snapshot is stored. */
export const endWaitMs = 20_000;
/** How long one call of the store may take. */
export const storeCallMs = 30_000;
/** How long all calls for one snapshot may take. */
export const storeMsMax = 15 * 60_000;
export const restoreMsMax = 10 * 60_000;
/** Blobs that are sent or fetched at the same time. */
export const callsAtOnce = 4;

/** Turns of a conversation after which the files are kept, so that it can be forked there. */
export const turnsMax = 20;

/** A piece with its nonce and tag. */
export const blobBytesMax = frameBytesMax + kib;
/** The blob that lists all others. */
export const contentsBytesMax = 16 * mib;
export const summaryBytesMax = 256 * kib;

/** The name and the digest of a piece in the list, as JSON. */
const listedPieceBytesMax = 128;

/**
 * More than any honest copy has: pieces are not smaller than the minimum, except for the last one of each section. A list
 * of more pieces could be stored, but not read again.
 */
export function piecesMaxOf(bytesMax: number): number {
  return Math.min(
    Math.ceil(bytesMax / pieceBytes.min) + 100,
    Math.floor(contentsBytesMax / listedPieceBytesMax) - 100,
  );
}

/** Compression never makes a copy much larger; tar adds a header to each file, and Git its own files. */
export function copyBytesMaxOf(bytesMax: number, filesMax: number): number {
  return bytesMax + filesMax * 2 * kib + 64 * mib;
}
