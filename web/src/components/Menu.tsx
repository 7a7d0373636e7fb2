// A button with a menu of actions. Escape and a click elsewhere close it.
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { Icon, type IconName } from './Icon.tsx';
import { IconButton } from './IconButton.tsx';

export interface Action {
  readonly label: string;
  readonly icon: IconName;
  readonly run: () => void;
  /** The shortcut that does the same. */
  readonly keys?: string;
  readonly danger?: boolean;
  /** Whether it is selected, for an action that is a choice. */
  readonly checked?: boolean;
  readonly disabled?: boolean;
}

const arrows: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at - 1 + count) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** Moves the focus between menu items by arrow keys, Home and End. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>('button:not(:disabled)')];
  const next = arrows[event.key]?.(buttons.indexOf(event.target as HTMLElement), buttons.length);
  if (next === undefined) return;
  event.preventDefault();
  buttons[next]?.focus();
}

const gapPx = 4;

/** Below the button, or above it if there is no space; never outside of the window. */
function place(list: HTMLElement, opener: HTMLElement): void {
  const at = opener.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = list;
  const below = at.bottom + gapPx;
  const top = below + height <= innerHeight ? below : Math.max(gapPx, at.top - gapPx - height);
  list.style.top = `${top}px`;
  list.style.left = `${Math.max(gapPx, Math.min(at.right - width, innerWidth - width - gapPx))}px`;
}

interface MenuProps {
  readonly label: string;
  /** Called when the menu opens. */
  readonly actions: () => readonly Action[];
  readonly icon?: IconName;
  readonly className?: string;
}

export function Menu({ label, actions, icon = 'more', className = '' }: MenuProps) {
  const [open, setOpen] = useState(false);
  const menu = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const opener = useRef<HTMLButtonElement>(null);

  useEffect(() => {
    const [shown, button] = [list.current, opener.current];
    if (!open || shown === null || button === null) return;
    // In the top layer no scroll container can cut it off.
    shown.showPopover();
    const replace = () => place(shown, button);
    replace();
    shown.querySelector<HTMLElement>('button')?.focus();
    const close = () => setOpen(false);
    const onPointer = (event: PointerEvent) => {
      if (!menu.current?.contains(event.target as Node)) close();
    };
    const onScroll = (event: Event) => {
      if ((event.target as Node).contains(button)) close();
    };
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      // The shortcuts of the page come later, and ignore it then.
      event.preventDefault();
      close();
      button.focus();
    };
    addEventListener('pointerdown', onPointer);
    addEventListener('scroll', onScroll, true);
    addEventListener('resize', replace);
    addEventListener('keydown', onKey, true);
    return () => {
      removeEventListener('pointerdown', onPointer);
      removeEventListener('scroll', onScroll, true);
      removeEventListener('resize', replace);
      removeEventListener('keydown', onKey, true);
    };
  }, [open]);

  return (
    <div className="menu" ref={menu}>
      <IconButton
        ref={opener}
        icon={icon}
        label={label}
        className={className}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      />
      {open ? (
        <ul ref={list} popover="manual" onKeyDown={moveFocus}>
          {actions().map((action) => (
            <li key={action.label}>
              <button
                type="button"
                className={action.danger ? 'danger' : undefined}
                disabled={action.disabled}
                aria-pressed={action.checked}
                aria-keyshortcuts={action.keys}
                onClick={() => {
                  setOpen(false);
                  opener.current?.focus();
                  action.run();
                }}
              >
                <Icon name={action.checked ? 'check' : action.icon} />
                <span>{action.label}</span>
                {action.keys === undefined ? null : <small aria-hidden="true">{action.keys}</small>}
              </button>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
