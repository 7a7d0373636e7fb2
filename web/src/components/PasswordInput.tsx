// An input with hidden text that browsers neither fill in nor store.

interface PasswordInputProps {
  readonly id?: string;
  readonly 'aria-label'?: string;
  readonly 'aria-invalid'?: boolean;
  readonly 'aria-describedby'?: string | undefined;
  readonly placeholder?: string | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function PasswordInput({ onChange, ...input }: PasswordInputProps) {
  return (
    <input
      {...input}
      className="input mono"
      type="password"
      autoComplete="new-password"
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
