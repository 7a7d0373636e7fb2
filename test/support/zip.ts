// Reads a zip archive by its directory, strictly enough to check that it is valid.
import assert from 'node:assert/strict';
import { crc32, inflateRawSync } from 'node:zlib';

export interface Zipped {
  readonly name: Buffer;
  readonly mode: number;
  readonly content: Buffer;
}

function readEntry(archive: Buffer, at: number): { zipped: Zipped; next: number } {
  assert.equal(archive.readUInt32LE(at), 0x02014b50);
  const [method, crc] = [archive.readUInt16LE(at + 10), archive.readUInt32LE(at + 16)];
  const [packedBytes, bytes] = [archive.readUInt32LE(at + 20), archive.readUInt32LE(at + 24)];
  const [nameBytes, mode] = [archive.readUInt16LE(at + 28), archive.readUInt16LE(at + 40)];
  const local = archive.readUInt32LE(at + 42);
  const name = archive.subarray(at + 46, at + 46 + nameBytes);
  assert.equal(archive.readUInt32LE(local), 0x04034b50);
  assert.deepEqual(archive.subarray(local + 30, local + 30 + nameBytes), name);
  const packed = archive.subarray(local + 30 + nameBytes, local + 30 + nameBytes + packedBytes);
  const content = method === 8 ? inflateRawSync(packed) : packed;
  assert.equal(content.length, bytes);
  assert.equal(crc32(content), crc);
  return { zipped: { name, mode, content }, next: at + 46 + nameBytes };
}

export function readZip(archive: Buffer): Zipped[] {
  const end = archive.length - 22;
  assert.equal(archive.readUInt32LE(end), 0x06054b50);
  const found: Zipped[] = [];
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const { zipped, next } = readEntry(archive, at);
    found.push(zipped);
    at = next;
  }
  assert.equal(at, end);
  return found;
}
