// Cuts streams into pieces, compresses them, and writes them as frames.
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { zstdCompressSync } from 'node:zlib';
import { frameHeaderBytes, pieceBytes, type Section, sectionTypes } from './sections.ts';

/** How many bits of the hash are zero at the end of a piece: one place in a million. */
const zeroBits = 20;
const mask = -1 << (32 - zeroBits);

/** Any fixed numbers that look random will do. They must never change, or nothing is found again. */
function createTable(): Int32Array {
  const table = new Int32Array(256);
  let state = 0x9e3779b9;
  for (let i = 0; i < table.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    table[i] = state;
  }
  return table;
}

const table = createTable();

/**
 * Finds the ends of pieces with a rolling hash of the last 32 bytes (a "gear" hash). Returns how many bytes of `bytes`
 * belong to the current piece, which has `before` bytes already; -1 if it does not end in them.
 */
export function findEnd(bytes: Buffer, before: number, state: { hash: number }): number {
  const last = Math.min(bytes.length, pieceBytes.max - before);
  const first = Math.max(0, pieceBytes.min - 64 - before);
  let { hash } = state;
  for (let at = first; at < last; at++) {
    hash = ((hash << 1) + (table[bytes[at] ?? 0] ?? 0)) | 0;
    if ((hash & mask) === 0 && before + at >= pieceBytes.min) {
      state.hash = 0;
      return at + 1;
    }
  }
  state.hash = hash;
  return before + last >= pieceBytes.max ? last : -1;
}

function header(type: number, length: number): Buffer {
  const bytes = Buffer.alloc(frameHeaderBytes);
  bytes.writeUInt8(type, 0);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

async function send(output: Writable, type: number, payload: Buffer): Promise<void> {
  output.write(header(type, payload.length));
  if (!output.write(payload)) await once(output, 'drain');
}

export interface SectionWriter {
  /** Writes a stream as a section. Throws what `count` throws, which is told the size of each part first. */
  write(section: Section, input: AsyncIterable<Buffer>, count?: (bytes: number) => void): Promise<void>;
  /** Writes the last frame. */
  end(type: 'end' | 'refused', payload: string): Promise<void>;
}

export function createSectionWriter(output: Writable): SectionWriter {
  return {
    write: async (section, input, count = () => {}) => {
      const type = sectionTypes[section];
      let parts: Buffer[] = [];
      let length = 0;
      const state = { hash: 0 };
      const flush = async () => {
        if (length > 0) await send(output, type, zstdCompressSync(Buffer.concat(parts)));
        parts = [];
        length = 0;
        state.hash = 0;
      };
      for await (let part of input) {
        count(part.length);
        for (;;) {
          const end = findEnd(part, length, state);
          if (end < 0) break;
          parts.push(part.subarray(0, end));
          length += end;
          await flush();
          part = part.subarray(end);
        }
        if (part.length > 0) parts.push(part);
        length += part.length;
      }
      await flush();
    },
    end: (type, payload) => send(output, sectionTypes[type], Buffer.from(payload)),
  };
}
