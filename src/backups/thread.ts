// The thread that makes a scheduled backup, so that reading, compressing and encrypting do not delay requests.
import { parentPort, workerData } from 'node:worker_threads';
import { type BackupOptions, createBackup } from './create.ts';

export interface ThreadBackup
  extends Pick<BackupOptions, 'workspaces' | 'snapshots' | 'keys' | 'passphrase'> {
  readonly file: string;
  readonly places: Omit<BackupOptions['places'], 'secretKeys'> & { readonly secretKeys: readonly string[] };
}

export type ThreadAnswer =
  | { readonly bytes: number; readonly rows: number; readonly leftOut: number }
  | { readonly error: string };

async function work({ places, file, ...options }: ThreadBackup): Promise<ThreadAnswer> {
  try {
    const secretKeys = places.secretKeys.map((key) => Buffer.from(key, 'hex'));
    const { bytes, manifest } = await createBackup({
      ...options,
      to: file,
      places: { ...places, secretKeys },
    });
    const rows = Object.values(manifest.tables).reduce((sum, table) => sum + table.rows, 0);
    return { bytes, rows, leftOut: manifest.left_out.count };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

parentPort?.postMessage(await work(workerData as ThreadBackup));
