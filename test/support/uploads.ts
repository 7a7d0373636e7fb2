// Uploads for tests: forms of files, and bodies that are generated while they are sent.
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import type { Answer, TestService } from './service.ts';

export type NamedContent = readonly [name: string, content: string | Buffer];

const boundary = 'parley-test-boundary';

function partHead(name: string, field = 'files'): string {
  return `--${boundary}\r\ncontent-disposition: form-data; name="${field}"; filename="${name}"\r\n\r\n`;
}

/** The body as it is: names reach the service without change. */
export function multipartBody(files: readonly NamedContent[], field = 'files'): Buffer {
  const parts = files.flatMap(([name, content]) => [
    Buffer.from(partHead(name, field)),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]);
}

export const multipartType = { 'content-type': `multipart/form-data; boundary=${boundary}` };

export function uploadFiles(
  { ask }: Pick<TestService, 'ask'>,
  id: string,
  files: readonly NamedContent[],
  { path = 'files', key }: { readonly path?: string; readonly key?: string } = {},
): Promise<Answer> {
  const raw = multipartBody(files);
  const credential = key === undefined ? {} : { key };
  return ask(`/api/conversations/${id}/${path}`, { raw, headers: multipartType, ...credential });
}

export interface StreamedUpload {
  readonly status: number;
  readonly body: { readonly code?: string; readonly error?: string };
  /** How much of the content was sent when the response arrived. */
  readonly sentBytes: number;
}

/** Sends files of any size without holding them. `pieces` are the content of one file. */
export function streamUpload(
  { url, key }: Pick<TestService, 'url' | 'key'>,
  path: string,
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
  signal?: AbortSignal,
): Promise<StreamedUpload> {
  const { promise, resolve, reject } = Promise.withResolvers<StreamedUpload>();
  const over = Promise.withResolvers<void>();
  let sentBytes = 0;
  let answered = false;
  const sending = request(url + path, {
    method: 'POST',
    headers: { ...multipartType, 'x-session-api-key': key },
    ...(signal && { signal }),
  });
  sending.on('response', (response) => {
    answered = true;
    over.resolve();
    const sent = sentBytes;
    let text = '';
    response.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    response.on('end', () => {
      resolve({ status: response.statusCode ?? 0, body: JSON.parse(text), sentBytes: sent });
      sending.destroy();
    });
  });
  sending.on('error', (error) => reject(error));
  sending.on('close', () => over.resolve());
  async function send() {
    sending.write(partHead('large.bin'));
    for await (const piece of pieces) {
      if (answered || sending.destroyed) return;
      sentBytes += piece.length;
      if (!sending.write(piece)) await Promise.race([once(sending, 'drain'), over.promise]).catch(() => {});
    }
    sending.end(`\r\n--${boundary}--\r\n`);
  }
  send().catch(reject);
  return promise;
}

/** The uploads that wait in the data folder, complete or not. */
export function stagedUploads({ storage }: Pick<TestService, 'storage'>): string[] {
  try {
    return readdirSync(join(storage.dataDir, 'uploads'));
  } catch {
    return [];
  }
}
