// The state of one settings form: unsaved changes, and the errors of the last save.
import { useRef, useState } from 'react';
import type { Settings, SettingsChange } from '../../../../src/client/parley.ts';
import { useDraft } from '../../session/drafts.ts';
import { useSettingsUpdate } from '../../session/settings.ts';
import { fieldErrorAt } from '../../texts/errors.ts';
import { changedSince, changesOf, isSameValue } from './formChanges.ts';
import { useUnsavedChanges } from './unsavedChanges.tsx';

export type SecretSetting = 'llm_api_key' | 'search_api_key' | 'sandbox_api_key';
export type PlainSetting = Exclude<keyof SettingsChange, SecretSetting | 'mcp_config'>;

export interface SettingsForm {
  /** The typed value, or else the stored one. */
  value<Name extends PlainSetting>(name: Name): Settings[Name];
  /** The same as text; null is empty. */
  text(name: PlainSetting): string;
  set<Name extends PlainSetting>(name: Name, value: SettingsChange[Name]): void;
  /** An empty text clears the setting. The service rejects text that is not a number. */
  setText(name: PlainSetting, text: string): void;
  /** Undefined leaves the secret as it is; an empty text removes it. */
  secret(name: SecretSetting): string | undefined;
  setSecret(name: SecretSetting, value: string | undefined): void;
  /** The error of the service, until the value is changed. */
  fieldError(name: keyof SettingsChange): string | undefined;
  readonly changed: boolean;
  readonly saving: boolean;
  readonly saved: boolean;
  /** How often the form was saved or discarded; fields use it as a React key to reset. */
  readonly resetCount: number;
  /** The error of the last attempt to save. */
  readonly failure: unknown;
  /** The same, unless a field shows it. */
  readonly error: unknown;
  save(): void;
  discard(): void;
}

interface FormInput {
  readonly draft: SettingsChange;
  readonly secrets: Partial<Record<SecretSetting, string>>;
}

/** Input is kept over a reload, except secrets, which only this form holds. */
function useFormInput(section: string) {
  const { draft, change, clear } = useDraft<SettingsChange>(`settings.${section}`, {});
  const [secrets, setSecrets] = useState<FormInput['secrets']>({});
  const [resetCount, setResetCount] = useState(0);
  const input = { draft, secrets };
  const newest = useRef<FormInput>(input);
  newest.current = input;
  return {
    input,
    resetCount,
    change,
    setSecret: (name: SecretSetting, value: string | undefined) =>
      setSecrets(({ [name]: _, ...others }) => (value === undefined ? others : { ...others, [name]: value })),
    /** Removes the given input, and keeps what the user has typed since. */
    remove: (past: FormInput) => {
      const later = changedSince(newest.current.draft, past.draft);
      const laterSecrets = changedSince(newest.current.secrets, past.secrets);
      clear();
      if (Object.keys(later).length > 0) change(later);
      setSecrets(laterSecrets);
      if (Object.keys(laterSecrets).length === 0) setResetCount((count) => count + 1);
    },
  };
}

function changesToSave({ draft, secrets }: FormInput, settings: Settings): SettingsChange {
  const secretChanges = Object.entries(secrets).map(([name, value]) => [name, value === '' ? null : value]);
  return { ...changesOf(draft, settings), ...Object.fromEntries(secretChanges) };
}

export function useSettingsForm(section: string, settings: Settings): SettingsForm {
  const { input, resetCount, change, setSecret, remove } = useFormInput(section);
  const update = useSettingsUpdate();
  const changes = changesToSave(input, settings);
  const changed = Object.keys(changes).length > 0;
  const { error, variables: sent = {} } = update;
  const atFields = Object.keys(sent).some((name) => fieldErrorAt(error, name) !== undefined);

  function discard() {
    remove(input);
    update.reset();
  }

  function set(part: SettingsChange) {
    change(part);
    if (update.isSuccess) update.reset();
  }

  useUnsavedChanges(changed, discard);
  const value = <Name extends PlainSetting>(name: Name) =>
    (input.draft[name] === undefined ? settings[name] : input.draft[name]) as Settings[Name];

  return {
    value,
    text: (name) => String(value(name) ?? ''),
    set: (name, now) => set({ [name]: now }),
    setText: (name, text) => set({ [name]: text === '' ? null : text }),
    secret: (name) => input.secrets[name],
    setSecret: (name, now) => {
      setSecret(name, now);
      if (update.isSuccess) update.reset();
    },
    fieldError: (name) => (isSameValue(changes[name], sent[name]) ? fieldErrorAt(error, name) : undefined),
    changed,
    saving: update.isPending,
    saved: update.isSuccess,
    resetCount,
    failure: error,
    error: atFields ? undefined : error,
    save: () => {
      if (changed && !update.isPending) update.mutate(changes, { onSuccess: () => remove(input) });
    },
    discard,
  };
}
