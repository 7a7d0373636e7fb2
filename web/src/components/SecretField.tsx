// The field for a stored secret, which can be replaced and removed but is never shown.
import { useId, useRef, useState } from 'react';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { useTexts } from '../texts/texts.tsx';
import { Field, FieldError, type FieldProps } from './fields.tsx';
import { useFocusAfterSwap } from './focus.ts';
import { PasswordInput } from './PasswordInput.tsx';

interface SecretProps extends FieldProps {
  /** Whether a secret is stored; undefined if the service does not report it. */
  readonly isSet: boolean | undefined;
  /** Undefined leaves the secret as it is; an empty text removes it. */
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

export function SecretField({ isSet, value, onChange, ...common }: SecretProps) {
  const [replacing, setReplacing] = useState(false);
  const frame = useRef<HTMLDivElement>(null);
  const focusNext = useFocusAfterSwap(frame);

  function press(replace: boolean, next: string | undefined) {
    focusNext();
    setReplacing(replace);
    onChange(next);
  }

  const actions = {
    onReplace: () => press(true, undefined),
    onRemove: () => press(false, ''),
    onKeep: () => press(false, undefined),
  };
  const typing = value !== '' && (value !== undefined || replacing || isSet !== true);
  return (
    <div ref={frame}>
      {typing ? (
        <TypedSecret {...common} {...actions} isSet={isSet} value={value ?? ''} onChange={onChange} />
      ) : (
        <StoredSecret {...common} {...actions} removed={value === ''} />
      )}
    </div>
  );
}

interface SecretActions {
  readonly onReplace: () => void;
  readonly onRemove: () => void;
  readonly onKeep: () => void;
}

function TypedSecret({ isSet, value, onChange, onKeep, onRemove, ...common }: SecretProps & SecretActions) {
  const { settings } = useTexts();
  const { removeStoredSecret } = useSettingsTexts();
  return (
    <Field {...common} hint={common.hint ?? (isSet ? settings.secretSet : settings.secretNotSet)}>
      {(input) => (
        <div className="secret">
          <PasswordInput
            {...input}
            value={value ?? ''}
            onChange={(typed) => onChange(typed === '' ? undefined : typed)}
          />
          {isSet === false ? null : (
            <button type="button" className="button" onClick={isSet ? onKeep : onRemove}>
              {isSet ? settings.secretKeep : removeStoredSecret}
            </button>
          )}
        </div>
      )}
    </Field>
  );
}

function StoredSecret({
  label,
  error,
  removed,
  ...actions
}: FieldProps & SecretActions & { removed: boolean }) {
  const { settings } = useTexts();
  const id = useId();
  // Buttons have no aria-invalid; the form finds the field by data-invalid.
  const invalid = error === undefined ? {} : { 'aria-describedby': `${id}-error`, 'data-invalid': true };
  const button = (text: string, onClick: () => void) => (
    <button type="button" className="button" aria-label={`${text}: ${label}`} {...invalid} onClick={onClick}>
      {text}
    </button>
  );
  return (
    <div className="field">
      <span className="label">{label}</span>
      <div className="secret">
        <span className="muted">{removed ? settings.secretRemoved : settings.secretSet}</span>
        {removed ? (
          button(settings.secretKeep, actions.onKeep)
        ) : (
          <div className="row">
            {button(settings.secretReplace, actions.onReplace)}
            {button(settings.secretRemove, actions.onRemove)}
          </div>
        )}
      </div>
      <FieldError id={`${id}-error`}>{error}</FieldError>
    </div>
  );
}
