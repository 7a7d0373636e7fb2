// Custom secrets. Names and descriptions are shown; values can only be replaced.
import { useState } from 'react';
import type { Parley } from '../../../src/client/parley.ts';
import { ConfirmDialog } from '../components/ConfirmDialog.tsx';
import { TextField } from '../components/fields.tsx';
import { useParley } from '../session/session.tsx';
import { useSettingsRefresh } from '../session/settings.ts';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { EntryForm } from './entries/EntryForm.tsx';
import { Entry, EntryButton, EntryList } from './entries/EntryList.tsx';
import { SecretInput } from './entries/SecretInput.tsx';
import { type EntryFormState, type EntryInput, useEntryForm } from './entries/useEntryForm.ts';
import { Card } from './form/Section.tsx';
import type { SectionProps } from './sections.ts';

interface SecretFields {
  readonly name: string;
  readonly description: string;
}

const empty: SecretFields = { name: '', description: '' };

function send(parley: Parley, { entry, fields, secrets }: EntryInput<SecretFields>): Promise<void> {
  const { name } = fields;
  const description = fields.description || null;
  const value = secrets['value'];
  if (entry === '') return parley.secrets.create({ name, value: value ?? '', description });
  return parley.secrets.update(entry, { name, description, ...(value === undefined ? {} : { value }) });
}

function SecretForm({ form }: { readonly form: EntryFormState<SecretFields> }) {
  const { secrets: texts, change, labelFor } = useSettingsTexts();
  const isNew = form.entry === '';
  const fieldErrors = {
    name: form.fieldError('name'),
    value: form.fieldError('value'),
    description: form.fieldError('description'),
  };
  return (
    <EntryForm
      title={isNew ? texts.add : labelFor(change, form.entry ?? '')}
      form={form}
      atFields={form.hasFieldError(Object.keys(fieldErrors))}
      submit={texts.save}
    >
      <TextField
        label={texts.name}
        hint={texts.nameHint}
        mono
        value={form.fields.name}
        onChange={(name) => form.set({ name })}
        error={fieldErrors.name}
      />
      <SecretInput
        label={texts.value}
        hint={isNew ? texts.valueHint : texts.valueUnchanged}
        multiline
        value={form.secrets['value'] ?? ''}
        onChange={(value) => form.setSecret('value', value || undefined)}
        error={fieldErrors.value}
      />
      <TextField
        label={texts.description}
        hint={texts.descriptionHint}
        value={form.fields.description}
        onChange={(description) => form.set({ description })}
        error={fieldErrors.description}
      />
    </EntryForm>
  );
}

export function SecretsSection({ settings }: SectionProps) {
  const texts = useSettingsTexts();
  const parley = useParley();
  const refresh = useSettingsRefresh();
  const [removing, setRemoving] = useState<string>();
  const form = useEntryForm<SecretFields>('secret', {
    empty,
    send: (input) => send(parley, input).finally(refresh),
  });
  const stored = Object.entries(settings.secrets_store.custom_secrets);
  const isStored = (name: string) => Object.hasOwn(settings.secrets_store.custom_secrets, name);
  return (
    <Card title={texts.secrets.title} lead={texts.secrets.lead}>
      <EntryList empty={texts.secrets.empty}>
        {stored.map(([name, { description }]) => (
          <Entry
            key={name}
            name={name}
            mono
            facts={[description]}
            actions={
              form.entry === name ? undefined : (
                <>
                  <EntryButton
                    label={texts.change}
                    entryName={name}
                    onClick={() => form.open(name, { name, description: description ?? '' })}
                  />
                  <EntryButton
                    label={texts.remove}
                    entryName={name}
                    danger
                    onClick={() => setRemoving(name)}
                  />
                </>
              )
            }
          >
            {form.entry === name ? <SecretForm form={form} /> : null}
          </Entry>
        ))}
      </EntryList>
      {form.entry !== null && !isStored(form.entry) ? (
        <SecretForm form={form} />
      ) : (
        <div className="row">
          <button type="button" className="button" onClick={() => form.open('', empty)}>
            {texts.secrets.add}
          </button>
        </div>
      )}
      {removing === undefined ? null : (
        <ConfirmDialog
          title={texts.secrets.removeTitle}
          name={removing}
          action={texts.remove}
          onConfirm={() => parley.secrets.delete(removing).finally(refresh)}
          onClose={() => setRemoving(undefined)}
        >
          <p className="muted">{texts.secrets.removeText}</p>
        </ConfirmDialog>
      )}
    </Card>
  );
}
