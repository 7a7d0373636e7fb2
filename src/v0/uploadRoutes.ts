// POST …/upload-files, as existing clients upload files.
import type { PassOn } from '../http/passOn.ts';
import type { Server } from '../http/routeTable.ts';
import {
  receiveUpload,
  sendUploadError,
  uploadAccess,
  uploadHook,
  withUnreadBodies,
} from '../workspaces/write/routes.ts';
import type { Uploads } from '../workspaces/write/service.ts';

export function v0UploadRoutes(app: Server, uploads: Uploads, passOn: PassOn): void {
  withUnreadBodies(app, (scope) =>
    scope.post<{ Params: { id: string } }>(
      '/api/conversations/:id/upload-files',
      {
        preHandler: uploadHook(uploads, passOn),
        errorHandler: sendUploadError,
        config: { access: uploadAccess },
        schema: { hide: true },
      },
      async (request) => {
        const { files, skipped } = await receiveUpload(uploads, request);
        const paths = files.map(({ path }) => path);
        return { uploaded_files: paths, file_urls: paths, skipped_files: skipped };
      },
    ),
  );
}
