// Opens the blob store that the operator has configured.
import type { BlobStore } from './blobStore.ts';
import { createFolderStore } from './folderStore.ts';
import type { BlobLocation } from './location.ts';
import { createS3Store } from './s3Store.ts';

export function openBlobStore(location: BlobLocation): BlobStore {
  return location.kind === 'folder' ? createFolderStore(location.path) : createS3Store(location);
}
