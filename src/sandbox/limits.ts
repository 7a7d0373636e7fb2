// Limits of a sandbox. The factor in the settings scales memory, processes and processors.
import { availableParallelism, totalmem } from 'node:os';
import { mib } from '../validation/schema.ts';
import type { SandboxSpec } from './sandbox.ts';

const gib = 1_024 * mib;
const memoryBytesDefault = 4 * gib;
/** Threads count as processes. */
const processesDefault = 1_024;
const processorsDefault = 2;

/**
 * What the kernel adds to the badness of every process in a sandbox, in thousandths of the memory: where memory runs
 * out, it kills one of these before the service.
 */
export const oomScoreAdjustment = 500;
/** Of the machine's memory: what one process of the service's own git may map, where no cgroup limits memory. */
const addressShareMax = 0.5;

/** The same for every sandbox. They keep one program from taking what others need. */
export const openFilesMax = 16_384;
export const fileBytesMax = 4 * gib;
export const temporaryBytesMax = gib;
export const sharedMemoryBytesMax = 256 * mib;

/** How many bytes and inodes a run must leave free on the disk. */
export const freeBytesMin = 500_000_000;
export const freeFilesMin = 10_000;

export interface SandboxLimits {
  readonly memoryBytesMax: number;
  /** The address space of one process that reserves no more than it uses, where no cgroup limits memory. */
  readonly addressBytesMax: number;
  readonly processesMax: number;
  readonly processorsMax: number;
}

/** The memory of the machine, or of the container that the service runs in. */
function machineBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

export function limitsOf({ resourceFactor }: Pick<SandboxSpec, 'resourceFactor'>): SandboxLimits {
  const memoryBytesMax = Math.round(memoryBytesDefault * resourceFactor);
  return {
    memoryBytesMax,
    addressBytesMax: Math.min(memoryBytesMax, Math.round(machineBytes() * addressShareMax)),
    processesMax: Math.max(1, Math.round(processesDefault * resourceFactor)),
    // Container engines refuse more processors than the machine has.
    processorsMax: Math.min(processorsDefault * resourceFactor, availableParallelism()),
  };
}
