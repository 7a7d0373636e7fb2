// Form fields for the settings record. Their labels come from the texts, the rest from the form.
import type { ReactNode } from 'react';
import type { Settings } from '../../../../src/client/parley.ts';
import { Field, SelectField, TextField, ToggleField } from '../../components/fields.tsx';
import { SecretField } from '../../components/SecretField.tsx';
import type { SettingName } from '../../texts/settings/fieldsEn.ts';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { useTexts } from '../../texts/texts.tsx';
import type { NumberSetting } from './formChanges.ts';
import type { PlainSetting, SecretSetting, SettingsForm } from './useSettingsForm.ts';

interface SettingFieldProps<Name extends SettingName> {
  readonly form: SettingsForm;
  readonly name: Name;
}

type SettingOf<Value> = { [Name in PlainSetting]: Settings[Name] extends Value ? Name : never }[PlainSetting];
type TextSetting = SettingOf<string | null>;
type BooleanSetting = SettingOf<boolean | null>;

/** Marks the field of a setting, so that a test can check that none is missing. */
export function SettingField({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return <div data-setting={name}>{children}</div>;
}

function useFieldProps(form: SettingsForm, name: SettingName) {
  const texts = useSettingsTexts();
  const { label, hint, default: defaultValue } = texts.fields[name];
  return {
    label,
    hint: defaultValue === undefined ? hint : `${hint} ${texts.defaultIs(defaultValue)}`,
    error: form.fieldError(name),
  };
}

type TextProps = SettingFieldProps<TextSetting> & {
  readonly type?: 'text' | 'url' | 'email';
  readonly mono?: boolean;
  readonly suggestions?: readonly string[] | undefined;
};

export function TextSettingField({ form, name, ...input }: TextProps) {
  return (
    <SettingField name={name}>
      <TextField
        {...useFieldProps(form, name)}
        {...input}
        value={form.text(name)}
        onChange={(text) => form.setText(name, text)}
      />
    </SettingField>
  );
}

export function NumberSettingField({ form, name }: SettingFieldProps<NumberSetting>) {
  return (
    <SettingField name={name}>
      <Field {...useFieldProps(form, name)}>
        {(input) => (
          <input
            {...input}
            className="input short"
            inputMode="decimal"
            autoComplete="off"
            value={form.text(name)}
            onChange={(event) => form.setText(name, event.target.value)}
          />
        )}
      </Field>
    </SettingField>
  );
}

export function ToggleSettingField({ form, name }: SettingFieldProps<BooleanSetting>) {
  return (
    <SettingField name={name}>
      <ToggleField
        {...useFieldProps(form, name)}
        checked={form.value(name) === true}
        onChange={(checked) => form.set(name, checked)}
      />
    </SettingField>
  );
}

interface Choice {
  readonly value: string;
  readonly label: string;
}

type SelectSettingProps = SettingFieldProps<TextSetting> & {
  readonly choices: readonly Choice[];
  readonly value?: string;
  /** Instead of the usual hint. */
  readonly hint?: string | undefined;
};

/** An empty value is null. A stored value that is not among the choices is added to them. */
export function SelectSettingField({
  form,
  name,
  choices,
  value = form.text(name),
  hint,
}: SelectSettingProps) {
  const common = useFieldProps(form, name);
  const known = choices.some((choice) => choice.value === value);
  return (
    <SettingField name={name}>
      <SelectField
        {...common}
        hint={hint ?? common.hint}
        value={value}
        onChange={(chosen) => form.setText(name, chosen)}
        options={known ? choices : [...choices, { value, label: value }]}
      />
    </SettingField>
  );
}

const answers = new Map([
  ['', null],
  ['yes', true],
  ['no', false],
]);

/** For a setting that may also be unset. */
export function YesNoSettingField({ form, name }: SettingFieldProps<BooleanSetting>) {
  const { choices } = useSettingsTexts();
  const value = form.value(name);
  return (
    <SettingField name={name}>
      <SelectField
        {...useFieldProps(form, name)}
        value={value === null ? '' : value ? 'yes' : 'no'}
        onChange={(chosen) => form.set(name, answers.get(chosen) ?? null)}
        options={[
          { value: '', label: choices.unanswered },
          { value: 'yes', label: choices.yes },
          { value: 'no', label: choices.no },
        ]}
      />
    </SettingField>
  );
}

interface SecretSettingFieldProps extends SettingFieldProps<SecretSetting> {
  /** Undefined if the service does not report it. The secret can still be replaced and removed. */
  readonly isSet: boolean | undefined;
  /** Says what is used if it is not set. */
  readonly instead?: string | undefined;
}

export function SecretSettingField({ form, name, isSet, instead }: SecretSettingFieldProps) {
  const { settings } = useTexts();
  const { secretMaybeStored } = useSettingsTexts();
  const { label, hint, error } = useFieldProps(form, name);
  const known = isSet ? settings.secretSet : (instead ?? settings.secretNotSet);
  return (
    <SettingField name={name}>
      <SecretField
        key={form.resetCount}
        label={label}
        hint={`${hint} ${isSet === undefined ? secretMaybeStored : known}`}
        error={error}
        isSet={isSet}
        value={form.secret(name)}
        onChange={(value) => form.setSecret(name, value)}
      />
    </SettingField>
  );
}
