// Form fields with a label, a hint and an error message, linked for screen readers.
import { type ReactNode, useId } from 'react';

export interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  /** The error message of the service or of the form. */
  readonly error?: string | undefined;
}

interface InputProps {
  readonly id: string;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string | undefined;
}

function inputProps(id: string, hint: string | undefined, error: string | undefined): InputProps {
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return {
    id,
    'aria-invalid': error !== undefined,
    'aria-describedby': described === '' ? undefined : described,
  };
}

/** Passes the attributes that link the control to its label, hint and error message. */
export function Field({
  label,
  hint,
  error,
  children,
}: FieldProps & { readonly children: (input: InputProps) => ReactNode }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children(inputProps(id, hint, error))}
      {hint === undefined ? null : (
        <p id={`${id}-hint`} className="hint">
          {hint}
        </p>
      )}
      <FieldError id={`${id}-error`}>{error}</FieldError>
    </div>
  );
}

export function FieldError({ id, children }: { readonly id: string; readonly children: string | undefined }) {
  if (children === undefined) return null;
  return (
    <p id={id} className="field-error" role="alert">
      {children}
    </p>
  );
}

interface TextProps extends FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
  readonly type?: 'text' | 'url' | 'email' | 'number' | 'search';
  /** Values that the browser suggests. The user may type others. */
  readonly suggestions?: readonly string[] | undefined;
  readonly mono?: boolean;
}

export function TextField({
  value,
  onChange,
  placeholder,
  type = 'text',
  suggestions,
  mono,
  ...common
}: TextProps) {
  const list = useId();
  return (
    <Field {...common}>
      {(input) => (
        <>
          <input
            {...input}
            className={mono ? 'input mono' : 'input'}
            type={type}
            value={value}
            placeholder={placeholder}
            autoComplete="off"
            spellCheck={false}
            list={suggestions === undefined ? undefined : list}
            onChange={(event) => onChange(event.target.value)}
          />
          {suggestions === undefined ? null : (
            <datalist id={list}>
              {suggestions.map((suggestion) => (
                <option key={suggestion} value={suggestion} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}

type AreaProps = Pick<TextProps, 'value' | 'onChange' | 'placeholder' | 'mono'> &
  FieldProps & { readonly rows?: number };

export function TextArea({ value, onChange, placeholder, mono, rows = 3, ...common }: AreaProps) {
  return (
    <Field {...common}>
      {(input) => (
        <textarea
          {...input}
          className={mono ? 'input mono' : 'input'}
          rows={rows}
          value={value}
          placeholder={placeholder}
          spellCheck={!mono}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

interface SelectProps extends FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly { readonly value: string; readonly label: string }[];
}

export function SelectField({ value, onChange, options, ...common }: SelectProps) {
  return (
    <Field {...common}>
      {(input) => (
        <select {...input} className="input" value={value} onChange={(event) => onChange(event.target.value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface ToggleProps extends FieldProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

export function ToggleField({ label, hint, error, checked, onChange }: ToggleProps) {
  const id = useId();
  return (
    <div className="field">
      <div className="toggle">
        <input
          {...inputProps(id, hint, error)}
          type="checkbox"
          checked={checked}
          onChange={(event) => onChange(event.target.checked)}
        />
        <div>
          <label htmlFor={id} className="label">
            {label}
          </label>
          {hint === undefined ? null : (
            <p id={`${id}-hint`} className="hint">
              {hint}
            </p>
          )}
        </div>
      </div>
      <FieldError id={`${id}-error`}>{error}</FieldError>
    </div>
  );
}
