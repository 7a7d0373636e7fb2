// The form that creates an API key.
import type { CreatedKey, Scope } from '../../../../src/client/parley.ts';
import { Field, SelectField, TextField } from '../../components/fields.tsx';
import { useParley } from '../../session/session.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { EntryForm } from '../entries/EntryForm.tsx';
import { type EntryFormState, useEntryForm } from '../entries/useEntryForm.ts';
import { CheckboxGroup } from '../form/CheckboxGroup.tsx';
import { DayMissing, type ExpiryChoice, expiryChoices, type KeyFields, newKey, toRequest } from './newKey.ts';

/** `grantable` are the scopes of the user's own key: a key cannot grant more than it has. */
export function useKeyForm(grantable: readonly Scope[], onCreated: (key: CreatedKey) => void) {
  const parley = useParley();
  return useEntryForm<KeyFields, CreatedKey>('key', {
    empty: newKey,
    send: async ({ fields }) => parley.keys.create(toRequest(fields, grantable, Date.now())),
    onDone: onCreated,
  });
}

interface KeyFormProps {
  readonly form: EntryFormState<KeyFields>;
  readonly grantable: readonly Scope[];
}

function ExpiryFields({ form, error }: { form: EntryFormState<KeyFields>; error: string | undefined }) {
  const { keys: texts } = useSettingsTexts();
  const { expiry, day } = form.fields;
  const missing = form.error instanceof DayMissing && day === '' ? texts.dateMissing : undefined;
  return (
    <>
      <SelectField
        label={texts.expiry}
        hint={texts.expiryHint}
        value={expiry}
        onChange={(chosen) => form.set({ expiry: chosen as ExpiryChoice })}
        options={expiryChoices.map((value) => ({ value, label: texts.expiries[value] }))}
        error={expiry === 'date' ? undefined : error}
      />
      {expiry === 'date' ? (
        <Field label={texts.date} error={missing ?? error}>
          {(joined) => (
            <input
              {...joined}
              className="input short"
              type="date"
              value={day}
              onChange={(event) => form.set({ day: event.target.value })}
            />
          )}
        </Field>
      ) : null}
    </>
  );
}

export function KeyForm({ form, grantable }: KeyFormProps) {
  const { keys: texts } = useSettingsTexts();
  const { name, kind, scopes } = form.fields;
  const fieldErrors = {
    name: form.fieldError('name'),
    scopes: form.fieldError('scopes'),
    expires_at: form.fieldError('expires_at', ['expiry', 'day']),
  };
  const atFields = form.error instanceof DayMissing || form.hasFieldError(Object.keys(fieldErrors));
  return (
    <EntryForm title={texts.add} form={form} atFields={atFields} submit={texts.create}>
      <TextField
        label={texts.name}
        hint={texts.nameHint}
        value={name}
        onChange={(typed) => form.set({ name: typed })}
        error={fieldErrors.name}
      />
      <SelectField
        label={texts.kind}
        hint={texts.typeHints[kind]}
        value={kind}
        onChange={(chosen) => form.set({ kind: chosen as KeyFields['kind'] })}
        options={(['session', 'bearer'] as const).map((value) => ({ value, label: texts.kinds[value] }))}
      />
      {kind === 'session' ? (
        <CheckboxGroup
          label={texts.scopes}
          options={grantable.map((value) => ({ value, label: texts.scopeTexts[value], note: value }))}
          chosen={scopes}
          onChange={(chosen) => form.set({ scopes: chosen })}
          error={fieldErrors.scopes}
        />
      ) : null}
      <ExpiryFields form={form} error={fieldErrors.expires_at} />
    </EntryForm>
  );
}
