// The environment of a tool server that is a program: names that can be seen, values that cannot.
import { useId } from 'react';
import { Icon } from '../../parts/Icon.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import type { EntryForm } from '../entry.ts';
import { envSecret, type ServerFields } from './servers.ts';

interface EnvFieldsProps {
  readonly form: EntryForm<ServerFields>;
  readonly fault: string | undefined;
}

export function EnvFields({ form, fault }: EnvFieldsProps) {
  const { tools: texts, remove, of } = useSettingsTexts();
  const id = useId();
  const { env } = form.fields;
  const described = [`${id}-hint`, fault === undefined ? '' : `${id}-fault`].join(' ').trim();
  return (
    <fieldset className="env" aria-describedby={described}>
      <legend>{texts.env}</legend>
      {env.map((variable, index) => (
        <div className="env-row" key={variable.id}>
          <input
            className="input mono"
            aria-label={`${texts.envName} ${index + 1}`}
            aria-invalid={fault !== undefined}
            placeholder={texts.envName}
            autoComplete="off"
            spellCheck={false}
            value={variable.name}
            onChange={({ target }) =>
              form.set({
                env: env.map((other) => (other === variable ? { ...other, name: target.value } : other)),
              })
            }
          />
          <input
            className="input mono"
            type="password"
            aria-label={`${texts.envValue} ${index + 1}`}
            placeholder={variable.stored ? texts.envKept : texts.envValue}
            autoComplete="new-password"
            value={form.secrets[envSecret(variable.id)] ?? ''}
            onChange={({ target }) => form.setSecret(envSecret(variable.id), target.value || undefined)}
          />
          <button
            type="button"
            className="button plain only-icon"
            aria-label={of(remove, variable.name || `${texts.envName} ${index + 1}`)}
            onClick={() => {
              form.setSecret(envSecret(variable.id), undefined);
              form.set({ env: env.filter((other) => other !== variable) });
            }}
          >
            <Icon name="trash" />
          </button>
        </div>
      ))}
      <div className="row">
        <button
          type="button"
          className="button small"
          onClick={() => form.set({ env: [...env, { id: crypto.randomUUID(), name: '', stored: false }] })}
        >
          <Icon name="plus" />
          {texts.envAdd}
        </button>
      </div>
      <p id={`${id}-hint`} className="hint">
        {texts.envHint}
      </p>
      {fault === undefined ? null : (
        <p id={`${id}-fault`} className="fault" role="alert">
          {fault}
        </p>
      )}
    </fieldset>
  );
}
