// The form of one entry of a list, to add or to change it: open or not, what is typed, and what is said against it.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useDraft } from '../session/drafts.ts';
import { faultsAt } from '../texts/errors.ts';
import { useLentFocus } from './lentFocus.ts';
import { useUnsaved } from './unsaved.tsx';

export type Secrets = Readonly<Record<string, string>>;

/** What is sent: the id of the entry, empty for a new one, and what was typed. */
export interface Typed<Fields> {
  readonly entry: string;
  readonly fields: Fields;
  /** Those that were typed; empty ones are to be removed. */
  readonly secrets: Secrets;
}

interface Draft<Fields> {
  readonly entry: string | null;
  readonly fields: Fields;
  /** As they were when it was opened. */
  readonly before: Fields;
}

export interface EntryForm<Fields> {
  /** Which is open: its id, empty for a new one, null for none. */
  readonly entry: string | null;
  readonly fields: Fields;
  readonly secrets: Secrets;
  readonly busy: boolean;
  readonly error: unknown;
  open(entry: string, fields: Fields): void;
  set(part: Partial<Fields>): void;
  setSecret(name: string, value: string | undefined): void;
  fault(path: string): string | undefined;
  submit(): void;
  close(): void;
}

interface EntryOptions<Fields, Out> {
  readonly empty: Fields;
  readonly send: (typed: Typed<Fields>) => Promise<Out>;
  readonly onDone?: (out: Out) => void;
}

/** Kept over a reload by that name, open as it was, but for secrets. */
export function useEntryForm<Fields extends object, Out = void>(
  name: string,
  { empty, send, onDone }: EntryOptions<Fields, Out>,
): EntryForm<Fields> {
  const start: Draft<Fields> = { entry: null, fields: empty, before: empty };
  const { draft, change, clear } = useDraft(`settings.${name}`, start);
  const [secrets, setSecrets] = useState<Secrets>({});
  const { entry, fields, before } = draft;
  const lend = useLentFocus(entry !== null);

  function forget() {
    clear();
    setSecrets({});
  }

  const sending = useMutation({
    mutationFn: send,
    onSuccess: (out) => {
      forget();
      onDone?.(out);
    },
  });

  function close() {
    forget();
    sending.reset();
  }

  const changed = JSON.stringify(fields) !== JSON.stringify(before) || Object.keys(secrets).length > 0;
  useUnsaved(entry !== null && changed, close);
  return {
    entry,
    fields,
    secrets,
    busy: sending.isPending,
    error: sending.error,
    open: (id, filled) => {
      lend();
      setSecrets({});
      sending.reset();
      change({ entry: id, fields: filled, before: filled });
    },
    set: (part) => change({ fields: { ...fields, ...part } }),
    setSecret: (secret, value) =>
      setSecrets(({ [secret]: _, ...others }) =>
        value === undefined ? others : { ...others, [secret]: value },
      ),
    fault: (path) => faultsAt(sending.error, path),
    submit: () => {
      if (entry !== null && !sending.isPending) sending.mutate({ entry, fields, secrets });
    },
    close,
  };
}
