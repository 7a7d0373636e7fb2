// The field of a value that goes in and never comes out.
import { useId, useRef, useState } from 'react';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { useTexts } from '../texts/texts.tsx';
import { Fault, Field, type FieldProps } from './fields.tsx';
import { useFocusWithin } from './focus.ts';
import { PasswordInput } from './PasswordInput.tsx';

interface SecretProps extends FieldProps {
  /** Whether one is stored. Undefined: nobody is told. */
  readonly isSet: boolean | undefined;
  /** Undefined: left as it is. Empty: to be removed. */
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

/** What is stored is not shown, only that it is. */
export function SecretField({ isSet, value, onChange, ...common }: SecretProps) {
  const [replacing, setReplacing] = useState(false);
  const frame = useRef<HTMLDivElement>(null);
  const pressed = useFocusWithin(frame);

  function press(replace: boolean, next: string | undefined) {
    pressed();
    setReplacing(replace);
    onChange(next);
  }

  const steps = {
    onReplace: () => press(true, undefined),
    onRemove: () => press(false, ''),
    onKeep: () => press(false, undefined),
  };
  const typing = value !== '' && (value !== undefined || replacing || isSet !== true);
  return (
    <div ref={frame}>
      {typing ? (
        <TypedSecret {...common} {...steps} isSet={isSet} value={value ?? ''} onChange={onChange} />
      ) : (
        <StoredSecret {...common} {...steps} removed={value === ''} />
      )}
    </div>
  );
}

interface Steps {
  readonly onReplace: () => void;
  readonly onRemove: () => void;
  readonly onKeep: () => void;
}

function TypedSecret({ isSet, value, onChange, onKeep, onRemove, ...common }: SecretProps & Steps) {
  const { settings } = useTexts();
  const { blindRemove } = useSettingsTexts();
  return (
    <Field {...common} hint={common.hint ?? (isSet ? settings.secretSet : settings.secretUnset)}>
      {(joined) => (
        <div className="secret">
          <PasswordInput
            {...joined}
            value={value ?? ''}
            onChange={(typed) => onChange(typed === '' ? undefined : typed)}
          />
          {isSet === false ? null : (
            <button type="button" className="button" onClick={isSet ? onKeep : onRemove}>
              {isSet ? settings.secretKeep : blindRemove}
            </button>
          )}
        </div>
      )}
    </Field>
  );
}

function StoredSecret({ label, fault, removed, ...steps }: FieldProps & Steps & { removed: boolean }) {
  const { settings } = useTexts();
  const id = useId();
  // No aria-invalid, which buttons do not have; a form finds it by this.
  const joined = fault === undefined ? {} : { 'aria-describedby': `${id}-fault`, 'data-invalid': true };
  const button = (text: string, onClick: () => void) => (
    <button type="button" className="button" aria-label={`${text}: ${label}`} {...joined} onClick={onClick}>
      {text}
    </button>
  );
  return (
    <div className="field">
      <span className="label">{label}</span>
      <div className="secret">
        <span className="quiet">{removed ? settings.secretCleared : settings.secretSet}</span>
        {removed ? (
          button(settings.secretKeep, steps.onKeep)
        ) : (
          <>
            {button(settings.secretReplace, steps.onReplace)}
            {button(settings.secretClear, steps.onRemove)}
          </>
        )}
      </div>
      <Fault id={`${id}-fault`}>{fault}</Fault>
    </div>
  );
}
