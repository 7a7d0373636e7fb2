// Where a blob store is, as an operator writes it.
import { isAbsolute, resolve } from 'node:path';

export type BlobLocation =
  | { readonly kind: 'folder'; readonly path: string }
  /** The prefix is empty or ends with a slash. */
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string };

const bucketForm = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w!.*'()/-]{0,512}))?$/;

/** Undefined if it is neither an absolute path nor a bucket. */
export function parseBlobLocation(text: string): BlobLocation | undefined {
  if (isAbsolute(text)) return { kind: 'folder', path: resolve(text) };
  const [, bucket, path = ''] = bucketForm.exec(text) ?? [];
  if (bucket === undefined) return undefined;
  const prefix = path.replace(/^\/+|\/+$/g, '');
  return { kind: 's3', bucket, prefix: prefix === '' ? '' : `${prefix}/` };
}
