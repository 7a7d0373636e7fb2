// The environment variables of a stdio MCP server. Names are shown, values are not.
import { useEffect, useId, useRef } from 'react';
import { randomText } from '../../../../src/client/conversations.ts';
import { FieldError } from '../../components/fields.tsx';
import { Icon } from '../../components/Icon.tsx';
import { PasswordInput } from '../../components/PasswordInput.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import type { EntryFormState } from '../entries/useEntryForm.ts';
import { type EnvField, envSecret, type ServerFields } from './servers.ts';

interface EnvFieldsProps {
  readonly form: EntryFormState<ServerFields>;
  readonly error: string | undefined;
}

/** After a row is added or removed, focuses the row of that number, or the button that adds one. */
function useRowFocus() {
  const rows = useRef<HTMLFieldSetElement>(null);
  const next = useRef<number>(undefined);
  useEffect(() => {
    if (next.current === undefined) return;
    const row = rows.current?.querySelectorAll('.env-row')[next.current];
    next.current = undefined;
    (row?.querySelector('input') ?? rows.current?.querySelector<HTMLElement>('.row button'))?.focus();
  });
  return {
    rows,
    goTo: (row: number) => {
      next.current = row;
    },
  };
}

export function EnvFields({ form, error }: EnvFieldsProps) {
  const { tools: texts } = useSettingsTexts();
  const id = useId();
  const { rows, goTo } = useRowFocus();
  const { env } = form.fields;

  function add() {
    if (form.busy) return;
    goTo(env.length);
    form.set({ env: [...env, { id: randomText(), name: '', stored: false }] });
  }

  function remove(index: number, { id: removed }: EnvField) {
    if (form.busy) return;
    goTo(index);
    form.setSecret(envSecret(removed), undefined);
    form.set({ env: env.filter((other) => other.id !== removed) });
  }

  return (
    <fieldset
      ref={rows}
      className="env-fields"
      aria-describedby={error === undefined ? `${id}-hint` : `${id}-hint ${id}-error`}
    >
      <legend>{texts.env}</legend>
      {env.map((variable, index) => (
        <EnvRow
          key={variable.id}
          variable={variable}
          number={index + 1}
          isInvalid={error !== undefined}
          value={form.secrets[envSecret(variable.id)] ?? ''}
          onRename={(name) =>
            form.set({ env: env.map((other) => (other === variable ? { ...other, name } : other)) })
          }
          onChange={(value) => form.setSecret(envSecret(variable.id), value || undefined)}
          onRemove={() => remove(index, variable)}
        />
      ))}
      <div className="row">
        <button type="button" className="button small" onClick={add}>
          <Icon name="plus" />
          {texts.envAdd}
        </button>
      </div>
      <p id={`${id}-hint`} className="hint">
        {texts.envHint} {env.some(({ stored }) => stored) ? texts.envReenter : null}
      </p>
      <FieldError id={`${id}-error`}>{error}</FieldError>
    </fieldset>
  );
}

interface EnvRowProps {
  readonly variable: EnvField;
  readonly number: number;
  readonly isInvalid: boolean;
  readonly value: string;
  readonly onRename: (name: string) => void;
  readonly onChange: (value: string) => void;
  readonly onRemove: () => void;
}

function EnvRow({ variable, number, isInvalid, value, onRename, onChange, onRemove }: EnvRowProps) {
  const { tools: texts, remove, labelFor } = useSettingsTexts();
  const name = `${texts.envName} ${number}`;
  return (
    <div className="env-row">
      <input
        className="input mono"
        aria-label={name}
        aria-invalid={isInvalid}
        placeholder={texts.envName}
        autoComplete="off"
        spellCheck={false}
        value={variable.name}
        onChange={({ target }) => onRename(target.value)}
      />
      <PasswordInput
        aria-label={`${texts.envValue} ${number}`}
        placeholder={variable.stored ? texts.envUnchanged : texts.envValue}
        value={value}
        onChange={onChange}
      />
      <button
        type="button"
        className="button plain icon-only"
        aria-label={labelFor(remove, variable.name || name)}
        onClick={onRemove}
      >
        <Icon name="trash" />
      </button>
    </div>
  );
}
