// One section of the settings as a form: what is changed and not saved, and what the service says against it.
import { useState } from 'react';
import type { Settings, SettingsChange } from '../../../src/client/parley.ts';
import { useDraft } from '../session/drafts.ts';
import { useSettingsUpdate } from '../session/settings.ts';
import { faultsAt } from '../texts/errors.ts';
import { useUnsaved } from './unsaved.tsx';

export type SecretMember = 'llm_api_key' | 'search_api_key' | 'sandbox_api_key';
export type PlainMember = Exclude<keyof SettingsChange, SecretMember | 'mcp_config'>;
export type NumberMember = 'max_iterations' | 'max_budget_per_task' | 'remote_runtime_resource_factor';

const numberMembers: ReadonlySet<string> = new Set<NumberMember>([
  'max_iterations',
  'max_budget_per_task',
  'remote_runtime_resource_factor',
]);

export interface SettingsForm {
  /** As typed, or as stored where nothing was. */
  value<Name extends PlainMember>(name: Name): Settings[Name];
  /** The same as text: null is empty. */
  text(name: PlainMember): string;
  set<Name extends PlainMember>(name: Name, value: SettingsChange[Name]): void;
  /** As typed. Empty clears it; what is no number is for the service to refuse. */
  setText(name: PlainMember, text: string): void;
  /** Undefined: left as it is. Empty: to be removed. */
  secret(name: SecretMember): string | undefined;
  setSecret(name: SecretMember, value: string | undefined): void;
  fault(name: keyof SettingsChange): string | undefined;
  readonly changed: boolean;
  readonly saving: boolean;
  readonly saved: boolean;
  /** How often it was saved or discarded: fields begin anew with each. */
  readonly round: number;
  /** Why the last try to save failed. */
  readonly failure: unknown;
  /** The same, where it cannot be said at a field. */
  readonly error: unknown;
  save(): void;
  discard(): void;
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
}

/** With a point or a comma. Anything else is sent as it was typed. */
function toNumber(text: string): number | string {
  const plain = text.trim().replace(',', '.');
  return /^-?\d{1,15}(\.\d{1,15})?$/.test(plain) ? Number(plain) : text;
}

/** What is typed into a number is kept as text: "0.50" on the way to "0.505" is not 0.5. */
function toSent(name: string, typed: unknown): unknown {
  return numberMembers.has(name) && typeof typed === 'string' ? toNumber(typed) : typed;
}

function changesOf(draft: SettingsChange, current: object): [string, unknown][] {
  return Object.entries(draft)
    .map(([name, typed]): [string, unknown] => [name, toSent(name, typed)])
    .filter(([name, value]) => !same(value, current[name as never]));
}

/** What is typed is kept over a reload, but for secrets, which are kept nowhere but in this form. */
export function useSettingsForm(section: string, settings: Settings): SettingsForm {
  const { draft, change, clear } = useDraft<SettingsChange>(`settings.${section}`, {});
  const [secrets, setSecrets] = useState<Partial<Record<SecretMember, string>>>({});
  const [round, setRound] = useState(0);
  const update = useSettingsUpdate();
  const cleared = Object.entries(secrets).map(([name, value]) => [name, value === '' ? null : value]);
  const wanted = Object.fromEntries([...changesOf(draft, settings), ...cleared]) as SettingsChange;
  const changed = Object.keys(wanted).length > 0;
  const { error } = update;
  const atFields = Object.keys(wanted).some((name) => faultsAt(error, name) !== undefined);

  function forget() {
    clear();
    setSecrets({});
    setRound((before) => before + 1);
  }

  function discard() {
    forget();
    update.reset();
  }

  function set(part: SettingsChange) {
    change(part);
    if (update.isSuccess) update.reset();
  }

  useUnsaved(changed, discard);
  const value = <Name extends PlainMember>(name: Name) =>
    (draft[name] === undefined ? settings[name] : draft[name]) as Settings[Name];

  return {
    value,
    text: (name) => String(value(name) ?? ''),
    set: (name, typed) => set({ [name]: typed }),
    setText: (name, text) => set({ [name]: text === '' ? null : text }),
    secret: (name) => secrets[name],
    setSecret: (name, typed) => {
      setSecrets(({ [name]: _, ...others }) => (typed === undefined ? others : { ...others, [name]: typed }));
      if (update.isSuccess) update.reset();
    },
    fault: (name) => faultsAt(error, name),
    changed,
    saving: update.isPending,
    saved: update.isSuccess,
    round,
    failure: error,
    error: atFields ? undefined : error,
    save: () => {
      if (changed && !update.isPending) update.mutate(wanted, { onSuccess: forget });
    },
    discard,
  };
}
