// Files that are attached to the next message: each is uploaded at once, and removed from the list if that fails.
import { useRef, useState } from 'react';
import { useParley } from '../../session/session.tsx';

export interface AttachedFile {
  readonly name: string;
  /** Its path in the workspace. */
  readonly path: string;
}

export interface RunningUpload {
  readonly key: number;
  readonly name: string;
  readonly stop: () => void;
}

/** A file that was not stored, with the error or the sentence that says why. */
export interface FailedUpload {
  readonly name: string;
  readonly error: unknown;
}

interface UploadsOptions {
  readonly id: string;
  readonly onUploaded: (file: AttachedFile) => void;
}

export function useUploads({ id, onUploaded }: UploadsOptions) {
  const parley = useParley();
  const nextKey = useRef(0);
  const last = useRef<Promise<void>>(Promise.resolve());
  const [running, setRunning] = useState<readonly RunningUpload[]>([]);
  const [failed, setFailed] = useState<readonly FailedUpload[]>([]);

  async function send(file: File, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    try {
      const { files, skipped } = await parley.conversations.upload(id, [file], { signal });
      for (const { name, path } of files) onUploaded({ name, path });
      const refused = skipped.map(({ name, reason }) => ({ name, error: reason }));
      if (refused.length > 0) setFailed((all) => [...all, ...refused]);
    } catch (error) {
      if (!signal.aborted) setFailed((all) => [...all, { name: file.name, error }]);
    }
  }

  function upload(file: File): void {
    const key = nextKey.current++;
    const stopping = new AbortController();
    const leave = () => setRunning((all) => all.filter((one) => one.key !== key));
    const stop = () => {
      stopping.abort();
      leave();
    };
    setRunning((all) => [...all, { key, name: file.name, stop }]);
    // One after another, so that all of them make visible progress.
    last.current = last.current.then(() => send(file, stopping.signal)).then(leave);
  }

  return {
    running,
    failed,
    upload: (files: readonly File[]) => {
      setFailed([]);
      for (const file of files) upload(file);
    },
    closeFailed: () => setFailed([]),
  };
}
