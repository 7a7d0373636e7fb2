// How much a cell may take. The factor of its settings scales what is shared: memory, processes and processors.
import { availableParallelism } from 'node:os';
import { mib } from '../validation/schema.ts';
import type { Cell } from './sandbox.ts';

const gib = 1_024 * mib;
const memoryBytesUsual = 4 * gib;
/** Threads count, too. */
const processesUsual = 1_024;
const processorsUsual = 2;

/** The same for every cell: they keep one program from taking what others need. */
export const openFilesMax = 16_384;
export const fileBytesMax = 4 * gib;
export const temporaryBytesMax = gib;
export const sharedMemoryBytesMax = 256 * mib;

/** How many bytes and inodes a run must leave free on the disk. */
export const freeBytesMin = 500_000_000;
export const freeFilesMin = 10_000;

export interface CellLimits {
  readonly memoryBytesMax: number;
  readonly processesMax: number;
  readonly processorsMax: number;
}

export function limitsOf({ resourceFactor }: Pick<Cell, 'resourceFactor'>): CellLimits {
  return {
    memoryBytesMax: Math.round(memoryBytesUsual * resourceFactor),
    processesMax: Math.max(1, Math.round(processesUsual * resourceFactor)),
    // An engine refuses to promise more than there are.
    processorsMax: Math.min(processorsUsual * resourceFactor, availableParallelism()),
  };
}
