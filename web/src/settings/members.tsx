// Members of the settings record as fields: the words come from the catalogue, the rest from the form.
import type { ReactNode } from 'react';
import type { Settings } from '../../../src/client/parley.ts';
import { Field, SelectField, TextField, ToggleField } from '../parts/fields.tsx';
import { SecretField } from '../parts/SecretField.tsx';
import type { FieldMember } from '../texts/settings/membersEn.ts';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { useTexts } from '../texts/texts.tsx';
import type { NumberMember } from './changes.ts';
import type { PlainMember, SecretMember, SettingsForm } from './form.ts';

interface MemberProps<Name extends FieldMember> {
  readonly form: SettingsForm;
  readonly name: Name;
}

type Of<Value> = { [Name in PlainMember]: Settings[Name] extends Value ? Name : never }[PlainMember];
type TextMember = Of<string | null>;
type SwitchMember = Of<boolean | null>;

/** Marks where a member is, so that a test can tell that none is missing. */
export function Member({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return <div data-member={name}>{children}</div>;
}

function useMember(form: SettingsForm, name: FieldMember) {
  const texts = useSettingsTexts();
  const { label, hint, usual } = texts.members[name];
  return {
    label,
    hint: usual === undefined ? hint : `${hint} ${texts.usual(usual)}`,
    fault: form.fault(name),
  };
}

type TextProps = MemberProps<TextMember> & {
  readonly type?: 'text' | 'url' | 'email';
  readonly mono?: boolean;
  readonly suggestions?: readonly string[] | undefined;
};

export function TextMemberField({ form, name, ...looks }: TextProps) {
  return (
    <Member name={name}>
      <TextField
        {...useMember(form, name)}
        {...looks}
        value={form.text(name)}
        onChange={(text) => form.setText(name, text)}
      />
    </Member>
  );
}

export function NumberMemberField({ form, name }: MemberProps<NumberMember>) {
  return (
    <Member name={name}>
      <Field {...useMember(form, name)}>
        {(joined) => (
          <input
            {...joined}
            className="input short"
            inputMode="decimal"
            autoComplete="off"
            value={form.text(name)}
            onChange={(event) => form.setText(name, event.target.value)}
          />
        )}
      </Field>
    </Member>
  );
}

export function SwitchMemberField({ form, name }: MemberProps<SwitchMember>) {
  return (
    <Member name={name}>
      <ToggleField
        {...useMember(form, name)}
        checked={form.value(name) === true}
        onChange={(checked) => form.set(name, checked)}
      />
    </Member>
  );
}

interface Choice {
  readonly value: string;
  readonly label: string;
}

/** Empty is null. A stored value that is not offered stays choosable. */
export function ChoiceMemberField({
  form,
  name,
  choices,
  value = form.text(name),
}: MemberProps<TextMember> & { readonly choices: readonly Choice[]; readonly value?: string }) {
  const known = choices.some((choice) => choice.value === value);
  return (
    <Member name={name}>
      <SelectField
        {...useMember(form, name)}
        value={value}
        onChange={(chosen) => form.setText(name, chosen)}
        options={known ? choices : [...choices, { value, label: value }]}
      />
    </Member>
  );
}

const answers = new Map([
  ['', null],
  ['yes', true],
  ['no', false],
]);

/** For what can also be left unanswered. */
export function AnswerMemberField({ form, name }: MemberProps<SwitchMember>) {
  const { choices } = useSettingsTexts();
  const value = form.value(name);
  return (
    <Member name={name}>
      <SelectField
        {...useMember(form, name)}
        value={value === null ? '' : value ? 'yes' : 'no'}
        onChange={(chosen) => form.set(name, answers.get(chosen) ?? null)}
        options={[
          { value: '', label: choices.unanswered },
          { value: 'yes', label: choices.yes },
          { value: 'no', label: choices.no },
        ]}
      />
    </Member>
  );
}

interface SecretMemberProps extends MemberProps<SecretMember> {
  /** Undefined: nobody is told. It can be replaced and removed all the same. */
  readonly isSet: boolean | undefined;
}

export function SecretMemberField({ form, name, isSet }: SecretMemberProps) {
  const { settings } = useTexts();
  const { blindSecret } = useSettingsTexts();
  const { label, hint, fault } = useMember(form, name);
  const known = isSet ? settings.secretSet : settings.secretUnset;
  return (
    <Member name={name}>
      <SecretField
        key={form.round}
        label={label}
        hint={`${hint} ${isSet === undefined ? blindSecret : known}`}
        fault={fault}
        isSet={isSet}
        value={form.secret(name)}
        onChange={(value) => form.setSecret(name, value)}
      />
    </Member>
  );
}
