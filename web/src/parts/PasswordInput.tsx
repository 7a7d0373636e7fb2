// An input whose text is hidden, and that no browser fills in or keeps.

interface PasswordInputProps {
  readonly id?: string;
  readonly 'aria-label'?: string;
  readonly 'aria-invalid'?: boolean;
  readonly 'aria-describedby'?: string | undefined;
  readonly placeholder?: string | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function PasswordInput({ onChange, ...joined }: PasswordInputProps) {
  return (
    <input
      {...joined}
      className="input mono"
      type="password"
      autoComplete="new-password"
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
