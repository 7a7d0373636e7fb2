// The form of one entry of a list, to add or to change it: open or not, what is typed, and what is said against it.
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
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
  /** Nothing changes while it is sent. */
  set(part: Partial<Fields>): void;
  setSecret(name: string, value: string | undefined): void;
  /** What the service says against that place, until one of the members is typed anew: by default that of its name. */
  fault(path: string, members?: readonly string[]): string | undefined;
  /** Whether what went wrong is said at one of these places. */
  isSaidAt(paths: readonly string[]): boolean;
  submit(): void;
  close(): void;
}

interface EntryOptions<Fields, Out> {
  readonly empty: Fields;
  readonly send: (typed: Typed<Fields>) => Promise<Out>;
  readonly onDone?: (out: Out) => void;
  /** What of the fields is kept over a reload; undefined: the form is not even open then. By default all. */
  readonly storable?: (fields: Fields) => Fields | undefined;
}

type Content = Omit<Typed<object>, 'entry'>;

/** What is said against what was tried, as far as that is still what is typed. */
function sayingOf(error: unknown, now: Content, tried: Content = now) {
  const valuesOf = ({ fields, secrets }: Content, member: string) => [
    (fields as Readonly<Record<string, unknown>>)[member],
    secrets[member],
  ];
  const isNew = (member: string) => {
    const before = valuesOf(tried, member);
    return valuesOf(now, member).some((value, index) => value !== before[index]);
  };
  return {
    fault: (path: string, members: readonly string[] = [path.slice(path.lastIndexOf('.') + 1)]) =>
      members.some(isNew) ? undefined : faultsAt(error, path),
    isSaidAt: (paths: readonly string[]) => paths.some((path) => faultsAt(error, path) !== undefined),
  };
}

/** Kept over a reload by that name, open as it was, but for secrets. */
export function useEntryForm<Fields extends object, Out = void>(
  name: string,
  { empty, send, onDone, storable = (fields) => fields }: EntryOptions<Fields, Out>,
): EntryForm<Fields> {
  const start: Draft<Fields> = { entry: null, fields: empty, before: empty };
  const { draft, change, clear } = useDraft(`settings.${name}`, start, {
    storable: (whole) => {
      const [fields, before] = [storable(whole.fields), storable(whole.before)];
      return fields === undefined || before === undefined ? start : { ...whole, fields, before };
    },
  });
  const [secrets, setSecrets] = useState<Secrets>({});
  const { entry, fields, before } = draft;
  const lend = useLentFocus(entry !== null);

  function forget() {
    clear();
    setSecrets({});
  }

  const newest = useRef(draft);
  newest.current = draft;
  const sending = useMutation({
    mutationFn: send,
    onSuccess: (out, sent: Typed<Fields>) => {
      // Another may have been opened meanwhile.
      if (newest.current.entry === sent.entry && newest.current.fields === sent.fields) forget();
      onDone?.(out);
    },
  });
  const { isPending, error, variables: tried } = sending;

  function close() {
    forget();
    sending.reset();
  }

  const changed = JSON.stringify(fields) !== JSON.stringify(before) || Object.keys(secrets).length > 0;
  useUnsaved(entry !== null && changed, close);
  return {
    ...sayingOf(error, { fields, secrets }, tried),
    entry,
    fields,
    secrets,
    busy: isPending,
    error,
    open: (id, filled) => {
      lend();
      setSecrets({});
      sending.reset();
      change({ entry: id, fields: filled, before: filled });
    },
    set: (part) => {
      if (!isPending) change({ fields: { ...fields, ...part } });
    },
    setSecret: (secret, value) => {
      if (isPending) return;
      setSecrets(({ [secret]: _, ...others }) =>
        value === undefined ? others : { ...others, [secret]: value },
      );
    },
    submit: () => {
      if (entry !== null && !isPending) sending.mutate({ entry, fields, secrets });
    },
    close,
  };
}
