// The list of the pieces of a snapshot, which is a blob itself, and how blobs are encrypted: each is bound to its
// conversation and its own name, so that none can be exchanged for another.
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { type BlobCipher, createBlobCipher, DecryptionError } from '../../encryption/encrypt.ts';
import { contentsBytesMax } from './bounds.ts';
import { type Section, sections } from './inside/sections.ts';
import type { SnapshotRow } from './store.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

const nameBytes = 16;
const version = 1;

export interface Piece {
  /** The name of its blob. */
  readonly name: string;
  readonly digest: string;
}

/** The pieces of each section, in their order. */
export type Pieces = Readonly<Partial<Record<Section, readonly Piece[]>>>;

export interface Contents {
  /** Whether the snapshot is restored into a clone or an empty repository, or has all files itself. */
  readonly hasRepository: boolean;
  readonly pieces: Pieces;
}

/** A blob was changed, is missing, or belongs to something else. The message is a clause that names it. */
export class DamagedSnapshot extends Error {}

export function newBlobName(): string {
  return randomBytes(nameBytes).toString('hex');
}

/** Encrypts and decrypts the blobs of one conversation. */
export interface BlobBox {
  seal(name: string, bytes: Buffer): Buffer;
  /** Throws DamagedSnapshot. */
  open(name: string, blob: Buffer): Buffer;
  readonly digest: BlobCipher['digest'];
}

export function createBlobBox(
  key: Buffer,
  {
    id,
    user_id: userId,
    conversation_id: conversationId,
  }: Pick<SnapshotRow, 'id' | 'user_id' | 'conversation_id'>,
): BlobBox {
  const cipher = createBlobCipher(key);
  const ownerOf = (name: string) => ['snapshot blob', String(userId), conversationId, id, name];
  return {
    digest: cipher.digest,
    seal: (name, bytes) => cipher.encrypt(bytes, ownerOf(name)),
    open: (name, blob) => {
      try {
        return cipher.decrypt(blob, ownerOf(name));
      } catch (error) {
        if (error instanceof DecryptionError)
          throw new DamagedSnapshot(`the blob ${id}/${name} in the snapshot store was changed`);
        throw error;
      }
    },
  };
}

export function piecesOf({ pieces }: Contents): Piece[] {
  return sections.flatMap((section) => pieces[section] ?? []);
}

export async function packContents(contents: Contents): Promise<Buffer> {
  return compress(Buffer.from(JSON.stringify({ version, ...contents })));
}

/** Only called with bytes that this service has encrypted. */
export async function unpackContents(bytes: Buffer): Promise<Contents> {
  const text = (await decompress(bytes, { maxOutputLength: contentsBytesMax })).toString();
  const { version: found, ...contents } = JSON.parse(text) as Contents & { readonly version: number };
  if (found !== version) throw new DamagedSnapshot('a newer version of Parley has written the snapshot');
  return contents;
}

export function isSameContents(one: Contents, other: Contents): boolean {
  const digests = (contents: Contents) =>
    sections
      .map((section) => (contents.pieces[section] ?? []).map(({ digest }) => digest).join(' '))
      .join('\n');
  return one.hasRepository === other.hasRepository && digests(one) === digests(other);
}
