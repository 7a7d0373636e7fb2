// The API keys of model providers. They can be stored, replaced and removed, but are never shown.
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ProviderKey } from '../../../src/client/parley.ts';
import { ErrorCallout } from '../components/Callout.tsx';
import { ConfirmDialog } from '../components/ConfirmDialog.tsx';
import { providerKeysKey, useProviderKeys } from '../session/providerKeys.ts';
import { useParley } from '../session/session.tsx';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { EntryForm } from './entries/EntryForm.tsx';
import { Entry, EntryButton, EntryList } from './entries/EntryList.tsx';
import { SecretInput } from './entries/SecretInput.tsx';
import { type EntryFormState, useEntryForm } from './entries/useEntryForm.ts';
import { Card } from './form/Section.tsx';

type KeyForm = EntryFormState<object>;

function ProviderKeyForm({ form }: { readonly form: KeyForm }) {
  const { providerKeys: texts } = useSettingsTexts();
  const key = form.secrets['api_key'] ?? '';
  const error = form.fieldError('api_key');
  return (
    <EntryForm
      title={texts.keyOf(form.entry ?? '')}
      form={form}
      atFields={form.hasFieldError(['api_key'])}
      submit={texts.save}
    >
      <SecretInput
        label={texts.key}
        value={key}
        onChange={(value) => form.setSecret('api_key', value || undefined)}
        error={error !== undefined && key.trim() === '' ? texts.missing : error}
      />
    </EntryForm>
  );
}

interface KeyEntryProps {
  readonly stored: ProviderKey;
  readonly form: KeyForm;
  readonly onRemove: () => void;
}

function KeyEntry({ stored, form, onRemove }: KeyEntryProps) {
  const { providerKeys: texts, add, remove } = useSettingsTexts();
  const { provider, is_set: isSet } = stored;
  const isOpen = form.entry === provider;
  const actions = (
    <>
      <EntryButton
        label={isSet ? texts.replace : add}
        entryName={provider}
        onClick={() => form.open(provider, {})}
      />
      {isSet ? <EntryButton label={remove} entryName={provider} danger onClick={onRemove} /> : null}
    </>
  );
  return (
    <Entry
      name={provider}
      mono
      facts={[isSet ? texts.stored : texts.unset]}
      actions={isOpen ? undefined : actions}
    >
      {isOpen ? <ProviderKeyForm form={form} /> : null}
    </Entry>
  );
}

export function ProviderKeys() {
  const { providerKeys: texts, remove } = useSettingsTexts();
  const parley = useParley();
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: providerKeysKey });
  const { data, error, refetch } = useProviderKeys();
  const [removing, setRemoving] = useState<string>();
  const form = useEntryForm<object>('providerKey', {
    empty: {},
    send: async ({ entry, secrets }) => {
      await parley.providerKeys.set(entry, (secrets['api_key'] ?? '').trim());
      await refresh();
    },
  });
  return (
    <Card title={texts.title} lead={texts.lead} part>
      {data === undefined ? <ErrorCallout error={error} onRetry={() => void refetch()} /> : null}
      <EntryList>
        {data?.provider_keys.map((stored) => (
          <KeyEntry
            key={stored.provider}
            {...{ stored, form }}
            onRemove={() => setRemoving(stored.provider)}
          />
        ))}
      </EntryList>
      {removing === undefined ? null : (
        <ConfirmDialog
          title={texts.removeTitle}
          name={removing}
          action={remove}
          onConfirm={async () => {
            await parley.providerKeys.delete(removing).finally(refresh);
          }}
          onClose={() => setRemoving(undefined)}
        >
          <p className="muted">{texts.removeText}</p>
        </ConfirmDialog>
      )}
    </Card>
  );
}
