// One section of the settings as a form: what is changed and not saved, and what the service says against it.
import { useRef, useState } from 'react';
import type { Settings, SettingsChange } from '../../../src/client/parley.ts';
import { useDraft } from '../session/drafts.ts';
import { useSettingsUpdate } from '../session/settings.ts';
import { faultsAt } from '../texts/errors.ts';
import { changesOf, same, typedSince } from './changes.ts';
import { useUnsaved } from './unsaved.tsx';

export type SecretMember = 'llm_api_key' | 'search_api_key' | 'sandbox_api_key';
export type PlainMember = Exclude<keyof SettingsChange, SecretMember | 'mcp_config'>;

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
  /** What the service says against it, until something else is typed. */
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

interface Typed {
  readonly draft: SettingsChange;
  readonly secrets: Partial<Record<SecretMember, string>>;
}

/** What is typed is kept over a reload, but for secrets, which are kept nowhere but in this form. */
function useTyped(section: string) {
  const { draft, change, clear } = useDraft<SettingsChange>(`settings.${section}`, {});
  const [secrets, setSecrets] = useState<Typed['secrets']>({});
  const [round, setRound] = useState(0);
  const typed = { draft, secrets };
  const newest = useRef<Typed>(typed);
  newest.current = typed;
  return {
    typed,
    round,
    change,
    setSecret: (name: SecretMember, value: string | undefined) =>
      setSecrets(({ [name]: _, ...others }) => (value === undefined ? others : { ...others, [name]: value })),
    /** What was typed after that stays. */
    forget: (past: Typed) => {
      const later = typedSince(newest.current.draft, past.draft);
      const laterSecrets = typedSince(newest.current.secrets, past.secrets);
      clear();
      if (Object.keys(later).length > 0) change(later);
      setSecrets(laterSecrets);
      if (Object.keys(laterSecrets).length === 0) setRound((before) => before + 1);
    },
  };
}

function wantedOf({ draft, secrets }: Typed, settings: Settings): SettingsChange {
  const removals = Object.entries(secrets).map(([name, value]) => [name, value === '' ? null : value]);
  return { ...changesOf(draft, settings), ...Object.fromEntries(removals) };
}

export function useSettingsForm(section: string, settings: Settings): SettingsForm {
  const { typed, round, change, setSecret, forget } = useTyped(section);
  const update = useSettingsUpdate();
  const wanted = wantedOf(typed, settings);
  const changed = Object.keys(wanted).length > 0;
  const { error, variables: tried = {} } = update;
  const atFields = Object.keys(tried).some((name) => faultsAt(error, name) !== undefined);

  function discard() {
    forget(typed);
    update.reset();
  }

  function set(part: SettingsChange) {
    change(part);
    if (update.isSuccess) update.reset();
  }

  useUnsaved(changed, discard);
  const value = <Name extends PlainMember>(name: Name) =>
    (typed.draft[name] === undefined ? settings[name] : typed.draft[name]) as Settings[Name];

  return {
    value,
    text: (name) => String(value(name) ?? ''),
    set: (name, now) => set({ [name]: now }),
    setText: (name, text) => set({ [name]: text === '' ? null : text }),
    secret: (name) => typed.secrets[name],
    setSecret: (name, now) => {
      setSecret(name, now);
      if (update.isSuccess) update.reset();
    },
    fault: (name) => (same(wanted[name], tried[name]) ? faultsAt(error, name) : undefined),
    changed,
    saving: update.isPending,
    saved: update.isSuccess,
    round,
    failure: error,
    error: atFields ? undefined : error,
    save: () => {
      if (changed && !update.isPending) update.mutate(wanted, { onSuccess: () => forget(typed) });
    },
    discard,
  };
}
