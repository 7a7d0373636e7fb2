// One section of the settings as a form: what is changed and not saved, and what the service says against it.
import { useState } from 'react';
import type { Settings, SettingsChange } from '../../../src/client/parley.ts';
import { useDraft } from '../session/drafts.ts';
import { useSettingsUpdate } from '../session/settings.ts';
import { faultsAt } from '../texts/errors.ts';

type Secret = 'llm_api_key' | 'search_api_key' | 'sandbox_api_key';
type Plain = Exclude<keyof SettingsChange, Secret>;

export interface SettingsForm {
  /** As typed, or as stored where nothing was. */
  value<Name extends Plain>(name: Name): Settings[Name];
  /** The same for text: null is empty. */
  text(name: Plain): string;
  set<Name extends Plain>(name: Name, value: SettingsChange[Name]): void;
  /** Undefined: left as it is. Empty: to be removed. */
  secret(name: Secret): string | undefined;
  setSecret(name: Secret, value: string | undefined): void;
  fault(name: keyof SettingsChange): string | undefined;
  readonly changed: boolean;
  readonly saving: boolean;
  readonly saved: boolean;
  /** What cannot be said at a field. */
  readonly error: unknown;
  save(): void;
  discard(): void;
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
}

/** What is typed is kept over a reload, but for secrets, which are kept nowhere but in this form. */
export function useSettingsForm(section: string, settings: Settings): SettingsForm {
  const { draft, change, clear } = useDraft<SettingsChange>(`settings.${section}`, {});
  const [secrets, setSecrets] = useState<Partial<Record<Secret, string>>>({});
  const update = useSettingsUpdate();
  const current = settings as SettingsChange;
  const changes = Object.entries(draft).filter(([name, value]) => !same(value, current[name as Plain]));
  const wanted = { ...Object.fromEntries(changes), ...secrets } as SettingsChange;
  const { error } = update;
  const atFields = Object.keys(wanted).some((name) => faultsAt(error, name) !== undefined);

  function discard() {
    clear();
    setSecrets({});
    update.reset();
  }

  const value = <Name extends Plain>(name: Name) =>
    (draft[name] === undefined ? settings[name] : draft[name]) as Settings[Name];

  return {
    value,
    text: (name) => String(value(name) ?? ''),
    set: (name, typed) => {
      change({ [name]: typed });
      if (update.isSuccess) update.reset();
    },
    secret: (name) => secrets[name],
    setSecret: (name, typed) =>
      setSecrets(({ [name]: _, ...others }) => (typed === undefined ? others : { ...others, [name]: typed })),
    fault: (name) => faultsAt(error, name),
    changed: Object.keys(wanted).length > 0,
    saving: update.isPending,
    saved: update.isSuccess,
    error: atFields ? undefined : error,
    save: () =>
      update.mutate(wanted, {
        onSuccess: () => {
          clear();
          setSecrets({});
        },
      }),
    discard,
  };
}
