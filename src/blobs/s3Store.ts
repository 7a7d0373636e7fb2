// Blobs as objects of a bucket of S3, or of a server that speaks its protocol. The SDK is loaded on first use, and finds
// credentials, region and endpoint as usual: in the environment, in its files, or from the machine.
import type { S3Client } from '@aws-sdk/client-s3';
import { limitCalls } from '../process/limitCalls.ts';
import { type BlobStore, BlobStoreError, checkBlobName } from './blobStore.ts';
import type { BlobLocation } from './location.ts';

type S3Location = Extract<BlobLocation, { kind: 's3' }>;
type Sdk = typeof import('@aws-sdk/client-s3');

const attemptsMax = 3;
const listedPerCall = 1_000;
/** Requests at once while objects are removed. */
const removalsAtOnce = 8;
/** Blobs of some megabytes are in memory while they are sent or fetched. */
const callsMax = 16;
const missingNames: ReadonlySet<string> = new Set(['NoSuchKey', 'NotFound']);

interface Opened {
  readonly sdk: Sdk;
  readonly client: S3Client;
}

/** Other servers than Amazon's mostly have no host name for each bucket, and no regions. */
function settingsOf(environment: NodeJS.ProcessEnv) {
  const isOther = Boolean(environment['AWS_ENDPOINT_URL_S3'] || environment['AWS_ENDPOINT_URL']);
  const region = environment['AWS_REGION'] || environment['AWS_DEFAULT_REGION'];
  return { forcePathStyle: isOther, ...(isOther && !region ? { region: 'us-east-1' } : {}) };
}

async function open(): Promise<Opened> {
  const sdk = await import('@aws-sdk/client-s3');
  const client = new sdk.S3Client({
    ...settingsOf(process.env),
    maxAttempts: attemptsMax,
    // Blobs are authenticated anyway, and not every server knows the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  return { sdk, client };
}

/** What the SDK throws before it sends anything. */
const noRegion = 'Region is missing';

/** Only the name of an error is kept: its text may contain parts of a request. */
function toStoreError(error: unknown, signal: AbortSignal): BlobStoreError {
  if (error instanceof BlobStoreError) return error;
  if (signal.aborted) return new BlobStoreError('S3 did not respond in time');
  const {
    name = 'Error',
    message,
    $metadata,
  } = error as {
    readonly name?: string;
    readonly message?: string;
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  if (message === noRegion) return new BlobStoreError('S3 needs a region: set AWS_REGION');
  const status = $metadata?.httpStatusCode;
  return new BlobStoreError(`S3 failed with ${name}${status === undefined ? '' : ` (${status})`}`);
}

async function readAtMost(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer | undefined> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body) {
    length += part.length;
    if (length > bytesMax) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

export function createS3Store({ bucket, prefix }: S3Location): BlobStore {
  let opening: Promise<Opened> | undefined;
  const limit = limitCalls(callsMax, () => new BlobStoreError('S3 did not respond in time'));
  const keyOf = (folder: string, file: string) => `${prefix}${checkBlobName(folder)}/${file}`;

  async function call<Out>(signal: AbortSignal, work: (opened: Opened) => Promise<Out>): Promise<Out> {
    opening ??= open();
    try {
      const opened = await opening;
      return await limit(signal, () => work(opened));
    } catch (error) {
      throw toStoreError(error, signal);
    }
  }

  async function listKeys({ sdk, client }: Opened, start: string, max: number, abortSignal: AbortSignal) {
    const keys: string[] = [];
    for (let token: string | undefined; ; ) {
      const page = await client.send(
        new sdk.ListObjectsV2Command({
          Bucket: bucket,
          Prefix: start,
          MaxKeys: Math.min(listedPerCall, max - keys.length),
          ContinuationToken: token,
        }),
        { abortSignal },
      );
      for (const { Key } of page.Contents ?? []) if (Key !== undefined) keys.push(Key);
      token = page.IsTruncated ? page.NextContinuationToken : undefined;
      if (token === undefined || keys.length >= max) return keys;
    }
  }

  return {
    name: `s3://${bucket}/${prefix}`,
    put: (folder, file, bytes, abortSignal) =>
      call(abortSignal, async ({ sdk, client }) => {
        const Key = keyOf(folder, checkBlobName(file));
        await client.send(new sdk.PutObjectCommand({ Bucket: bucket, Key, Body: bytes }), { abortSignal });
      }),
    get: (folder, file, bytesMax, abortSignal) =>
      call(abortSignal, async ({ sdk, client }) => {
        try {
          const Key = keyOf(folder, checkBlobName(file));
          const { Body } = await client.send(new sdk.GetObjectCommand({ Bucket: bucket, Key }), {
            abortSignal,
          });
          return Body && (await readAtMost(Body as AsyncIterable<Uint8Array>, bytesMax));
        } catch (error) {
          if (missingNames.has((error as Error).name)) return undefined;
          throw error;
        }
      }),
    list: (folder, max, abortSignal) =>
      call(abortSignal, async (opened) => {
        const start = keyOf(folder, '');
        const keys = await listKeys(opened, start, max, abortSignal);
        return keys.map((key) => key.slice(start.length));
      }),
    remove: (folder, files, abortSignal) =>
      call(abortSignal, async ({ sdk, client }) => {
        const waiting = files.values();
        const removeSome = async () => {
          for (const file of waiting)
            await client.send(new sdk.DeleteObjectCommand({ Bucket: bucket, Key: keyOf(folder, file) }), {
              abortSignal,
            });
        };
        await Promise.all(Array.from({ length: Math.min(removalsAtOnce, files.length) }, removeSome));
      }),
    close: () =>
      void opening?.then(
        ({ client }) => client.destroy(),
        () => {
          // Every call has reported it.
        },
      ),
  };
}
