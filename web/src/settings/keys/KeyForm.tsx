// The form that makes a key.
import type { CreatedKey, Scope } from '../../../../src/client/parley.ts';
import { Field, SelectField, TextField } from '../../parts/fields.tsx';
import { useParley } from '../../session/session.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { CheckList } from '../CheckList.tsx';
import { EntryFrame } from '../EntryFrame.tsx';
import { type EntryForm, useEntryForm } from '../entry.ts';
import { type ExpiryChoice, expiryChoices } from '../expiry.ts';
import { DayMissing, type KeyFields, newKey, toRequest } from './newKey.ts';

/** `grantable`: what the own key holds, for more cannot be given. */
export function useKeyForm(grantable: readonly Scope[], onMade: (key: CreatedKey) => void) {
  const parley = useParley();
  return useEntryForm<KeyFields, CreatedKey>('key', {
    empty: newKey,
    send: async ({ fields }) => parley.keys.create(toRequest(fields, grantable, Date.now())),
    onDone: onMade,
  });
}

interface KeyFormProps {
  readonly form: EntryForm<KeyFields>;
  readonly grantable: readonly Scope[];
}

function ExpiryFields({ form, fault }: { form: EntryForm<KeyFields>; fault: string | undefined }) {
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
        fault={expiry === 'date' ? undefined : fault}
      />
      {expiry === 'date' ? (
        <Field label={texts.date} fault={missing ?? fault}>
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
  const faults = {
    name: form.fault('name'),
    scopes: form.fault('scopes'),
    expires_at: form.fault('expires_at', ['expiry', 'day']),
  };
  const said = form.error instanceof DayMissing || form.isSaidAt(Object.keys(faults));
  return (
    <EntryFrame title={texts.add} form={form} atFields={said} submit={texts.create}>
      <TextField
        label={texts.name}
        hint={texts.nameHint}
        value={name}
        onChange={(typed) => form.set({ name: typed })}
        fault={faults.name}
      />
      <SelectField
        label={texts.kind}
        hint={texts.kindHints[kind]}
        value={kind}
        onChange={(chosen) => form.set({ kind: chosen as KeyFields['kind'] })}
        options={(['session', 'bearer'] as const).map((value) => ({ value, label: texts.kinds[value] }))}
      />
      {kind === 'session' ? (
        <CheckList
          label={texts.scopes}
          options={grantable.map((value) => ({ value, label: texts.scopeTexts[value], note: value }))}
          chosen={scopes}
          onChange={(chosen) => form.set({ scopes: chosen })}
          fault={faults.scopes}
        />
      ) : null}
      <ExpiryFields form={form} fault={faults.expires_at} />
    </EntryFrame>
  );
}
