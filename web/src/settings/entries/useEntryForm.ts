// The state of the form that adds or changes one entry of a list: whether it is open, its input and its errors.
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useDraft } from '../../session/drafts.ts';
import { fieldErrorAt } from '../../texts/errors.ts';
import { useUnsavedChanges } from '../form/unsavedChanges.tsx';
import { useRestoreFocus } from './restoreFocus.ts';

export type Secrets = Readonly<Record<string, string>>;

/** The input to send. `entry` is the id of the entry, empty for a new one. */
export interface EntryInput<Fields> {
  readonly entry: string;
  readonly fields: Fields;
  /** Only the secrets that the user typed. An empty one removes the stored value. */
  readonly secrets: Secrets;
}

interface Draft<Fields> {
  readonly entry: string | null;
  readonly fields: Fields;
  /** The fields as they were when the form was opened. */
  readonly initial: Fields;
}

export interface EntryFormState<Fields> {
  /** The id of the open entry, empty for a new one, null if the form is closed. */
  readonly entry: string | null;
  readonly fields: Fields;
  readonly secrets: Secrets;
  readonly busy: boolean;
  readonly error: unknown;
  open(entry: string, fields: Fields): void;
  /** Ignored while the form is being sent. */
  set(part: Partial<Fields>): void;
  setSecret(name: string, value: string | undefined): void;
  /** The error of the service at that path, until one of `fields` is edited: by default the last name of the path. */
  fieldError(path: string, fields?: readonly string[]): string | undefined;
  /** Whether the error is at one of these paths. */
  hasFieldError(paths: readonly string[]): boolean;
  submit(): void;
  close(): void;
}

interface EntryOptions<Fields, Out> {
  readonly empty: Fields;
  readonly send: (typed: EntryInput<Fields>) => Promise<Out>;
  readonly onDone?: (out: Out) => void;
  /** Returns the fields to keep over a reload, or undefined to keep nothing. By default, all are kept. */
  readonly storable?: (fields: Fields) => Fields | undefined;
}

type Input = Omit<EntryInput<object>, 'entry'>;

/** The errors of fields that have not been edited since they were sent. */
function errorLookup(error: unknown, input: Input, sent: Input = input) {
  const valuesOf = ({ fields, secrets }: Input, field: string) => [
    (fields as Readonly<Record<string, unknown>>)[field],
    secrets[field],
  ];
  const isEdited = (field: string) => {
    const before = valuesOf(sent, field);
    return valuesOf(input, field).some((value, index) => value !== before[index]);
  };
  return {
    fieldError: (path: string, fields: readonly string[] = [path.slice(path.lastIndexOf('.') + 1)]) =>
      fields.some(isEdited) ? undefined : fieldErrorAt(error, path),
    hasFieldError: (paths: readonly string[]) =>
      paths.some((path) => fieldErrorAt(error, path) !== undefined),
  };
}

/** Everything but secrets is kept over a reload, as the draft of that name. */
export function useEntryForm<Fields extends object, Out = void>(
  name: string,
  { empty, send, onDone, storable = (fields) => fields }: EntryOptions<Fields, Out>,
): EntryFormState<Fields> {
  const start: Draft<Fields> = { entry: null, fields: empty, initial: empty };
  const { draft, change, clear } = useDraft(`settings.${name}`, start, {
    storable: (whole) => {
      const [fields, initial] = [storable(whole.fields), storable(whole.initial)];
      return fields === undefined || initial === undefined ? start : { ...whole, fields, initial };
    },
  });
  const [secrets, setSecrets] = useState<Secrets>({});
  const { entry, fields, initial } = draft;
  const rememberOpener = useRestoreFocus(entry !== null);

  function reset() {
    clear();
    setSecrets({});
  }

  const newest = useRef(draft);
  newest.current = draft;
  const mutation = useMutation({
    mutationFn: send,
    onSuccess: (out, sent: EntryInput<Fields>) => {
      // The user may have opened another entry meanwhile.
      if (newest.current.entry === sent.entry && newest.current.fields === sent.fields) reset();
      onDone?.(out);
    },
  });
  const { isPending, error, variables: sent } = mutation;

  function close() {
    reset();
    mutation.reset();
  }

  const changed = JSON.stringify(fields) !== JSON.stringify(initial) || Object.keys(secrets).length > 0;
  useUnsavedChanges(entry !== null && changed, close);
  return {
    ...errorLookup(error, { fields, secrets }, sent),
    entry,
    fields,
    secrets,
    busy: isPending,
    error,
    open: (id, filled) => {
      rememberOpener();
      setSecrets({});
      mutation.reset();
      change({ entry: id, fields: filled, initial: filled });
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
      if (entry !== null && !isPending) mutation.mutate({ entry, fields, secrets });
    },
    close,
  };
}
