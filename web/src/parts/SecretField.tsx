// The field of a value that goes in and never comes out.
import { useState } from 'react';
import { useTexts } from '../texts/texts.tsx';
import { Field, type FieldProps } from './fields.tsx';

interface SecretProps extends FieldProps {
  /** Whether one is stored. */
  readonly isSet: boolean;
  /** Undefined: left as it is. Empty: to be removed. */
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

/** What is stored is not shown, only that it is. */
export function SecretField({ isSet, value, onChange, ...common }: SecretProps) {
  const { settings } = useTexts();
  const [replacing, setReplacing] = useState(false);
  const typing = replacing || !isSet || (value !== undefined && value !== '');
  const removed = isSet && value === '' && !replacing;

  function keep() {
    setReplacing(false);
    onChange(undefined);
  }

  if (typing)
    return (
      <Field {...common} hint={common.hint ?? (isSet ? settings.secretSet : settings.secretUnset)}>
        {(joined) => (
          <div className="secret">
            <input
              {...joined}
              className="input mono"
              type="password"
              autoComplete="new-password"
              spellCheck={false}
              value={value ?? ''}
              onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
            />
            {isSet ? (
              <button type="button" className="button" onClick={keep}>
                {settings.secretKeep}
              </button>
            ) : null}
          </div>
        )}
      </Field>
    );
  return (
    <div className="field">
      <span className="label">{common.label}</span>
      <div className="secret">
        <span className="quiet">{removed ? settings.secretCleared : settings.secretSet}</span>
        {removed ? (
          <button type="button" className="button" onClick={keep}>
            {settings.secretKeep}
          </button>
        ) : (
          <>
            <button
              type="button"
              className="button"
              aria-label={`${settings.secretReplace}: ${common.label}`}
              onClick={() => setReplacing(true)}
            >
              {settings.secretReplace}
            </button>
            <button
              type="button"
              className="button"
              aria-label={`${settings.secretClear}: ${common.label}`}
              onClick={() => onChange('')}
            >
              {settings.secretClear}
            </button>
          </>
        )}
      </div>
      {common.fault === undefined ? null : (
        <p className="fault" role="alert">
          {common.fault}
        </p>
      )}
    </div>
  );
}
