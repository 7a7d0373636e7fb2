// The field of a secret in the form of an entry. Nothing stored is ever shown in it: empty means unchanged.
import { Field, type FieldProps } from '../parts/fields.tsx';

interface SecretInputProps extends FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** For values of several lines, such as certificates. */
  readonly lines?: boolean;
  readonly placeholder?: string | undefined;
}

export function SecretInput({ value, onChange, lines = false, placeholder, ...common }: SecretInputProps) {
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
            placeholder={placeholder}
            onChange={(event) => onChange(event.target.value)}
          />
        ) : (
          <input
            {...joined}
            className="input mono"
            type="password"
            autoComplete="new-password"
            spellCheck={false}
            value={value}
            placeholder={placeholder}
            onChange={(event) => onChange(event.target.value)}
          />
        )
      }
    </Field>
  );
}
