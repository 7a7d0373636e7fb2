// The field of a secret in the form of an entry. Nothing stored is ever shown in it: empty means unchanged.
import { Field, type FieldProps } from '../parts/fields.tsx';
import { PasswordInput } from '../parts/PasswordInput.tsx';

interface SecretInputProps extends FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** For values of several lines, such as certificates. */
  readonly lines?: boolean;
}

export function SecretInput({ value, onChange, lines = false, ...common }: SecretInputProps) {
  return (
    <Field {...common}>
      {(joined) =>
        lines ? (
          <textarea
            {...joined}
            className="input mono veiled"
            rows={2}
            autoComplete="off"
            spellCheck={false}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        ) : (
          <PasswordInput {...joined} value={value} onChange={onChange} />
        )
      }
    </Field>
  );
}
