// A button that shows only an icon. Its label is for screen readers and the tooltip.
import type { ComponentProps } from 'react';
import { Icon, type IconName } from './Icon.tsx';

interface IconButtonProps extends Omit<ComponentProps<'button'>, 'type' | 'title' | 'children'> {
  readonly icon: IconName;
  readonly label: string;
}

export function IconButton({ icon, label, className = 'plain', ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={`button icon-only ${className}`.trim()}
      aria-label={label}
      title={label}
    >
      <Icon name={icon} />
    </button>
  );
}
