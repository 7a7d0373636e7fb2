// The field for a secret in an entry form. It never shows a stored value; empty means unchanged.
import { Field, type FieldProps } from '../../components/fields.tsx';
import { PasswordInput } from '../../components/PasswordInput.tsx';

interface SecretInputProps extends FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Allows several lines, for values such as certificates. */
  readonly multiline?: boolean;
}

export function SecretInput({ value, onChange, multiline = false, ...common }: SecretInputProps) {
  return (
    <Field {...common}>
      {(input) =>
        multiline ? (
          <textarea
            {...input}
            className="input mono masked"
            rows={2}
            autoComplete="off"
            spellCheck={false}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        ) : (
          <PasswordInput {...input} value={value} onChange={onChange} />
        )
      }
    </Field>
  );
}
