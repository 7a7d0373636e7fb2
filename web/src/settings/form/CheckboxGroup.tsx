// A group of checkboxes for choosing several of a few options.
import { useId } from 'react';
import { FieldError } from '../../components/fields.tsx';

interface CheckboxGroupProps<Value extends string> {
  readonly label: string;
  readonly options: readonly { readonly value: Value; readonly label: string; readonly note?: string }[];
  readonly chosen: readonly Value[];
  readonly onChange: (chosen: Value[]) => void;
  readonly error?: string | undefined;
}

export function CheckboxGroup<Value extends string>({
  label,
  options,
  chosen,
  onChange,
  error,
}: CheckboxGroupProps<Value>) {
  const id = useId();
  return (
    <fieldset className="checkbox-group" aria-describedby={error === undefined ? undefined : `${id}-error`}>
      <legend>{label}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="checkbox"
            checked={chosen.includes(option.value)}
            aria-invalid={error !== undefined}
            onChange={({ target }) =>
              onChange(
                options
                  .map(({ value }) => value)
                  .filter((value) => (value === option.value ? target.checked : chosen.includes(value))),
              )
            }
          />
          <span>{option.label}</span>
          {option.note === undefined ? null : <code className="muted">{option.note}</code>}
        </label>
      ))}
      <FieldError id={`${id}-error`}>{error}</FieldError>
    </fieldset>
  );
}
