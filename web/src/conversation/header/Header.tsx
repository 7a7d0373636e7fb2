// The header of a conversation: title, status and actions.
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import type { ConversationInfo } from '../../../../src/client/parley.ts';
import { Icon, type IconName } from '../../components/Icon.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import type { Activity } from '../../components/status.ts';
import { visibleLine } from '../../components/visibleText.ts';
import { useShortcuts } from '../../layout/shortcuts.ts';
import { useTexts } from '../../texts/texts.tsx';
import type { useActions } from '../conversationQueries.ts';

interface Action {
  readonly label: string;
  readonly icon: IconName;
  readonly run: () => void;
  readonly danger?: boolean;
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

/** A dropdown menu; Escape and a click elsewhere close it. */
function Menu({ label, actions }: { readonly label: string; readonly actions: readonly Action[] }) {
  const [open, setOpen] = useState(false);
  const menu = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);

  useEffect(() => {
    if (!open) return;
    menu.current?.querySelector<HTMLElement>('ul button')?.focus();
    const onPointer = (event: PointerEvent) => {
      if (!menu.current?.contains(event.target as Node)) setOpen(false);
    };
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      // The shortcuts of the page come later, and ignore it then.
      event.preventDefault();
      setOpen(false);
      opener.current?.focus();
    };
    addEventListener('pointerdown', onPointer);
    addEventListener('keydown', onKey, true);
    return () => {
      removeEventListener('pointerdown', onPointer);
      removeEventListener('keydown', onKey, true);
    };
  }, [open]);

  return (
    <div className="menu" ref={menu}>
      <IconButton
        ref={opener}
        icon="more"
        label={label}
        className=""
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      />
      {open ? (
        <ul onKeyDown={moveFocus}>
          {actions.map((action) => (
            <li key={action.label}>
              <button
                type="button"
                className={action.danger ? 'danger' : undefined}
                disabled={action.disabled}
                onClick={() => {
                  setOpen(false);
                  opener.current?.focus();
                  action.run();
                }}
              >
                <Icon name={action.icon} />
                {action.label}
              </button>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}

interface HeaderProps {
  readonly info: ConversationInfo | undefined;
  readonly activity: Activity | undefined;
  readonly actions: ReturnType<typeof useActions>;
  readonly onRename: () => void;
  readonly onChoose: () => void;
  readonly onDelete: () => void;
  readonly details: ReactNode;
}

function StartStop({ info, actions }: Pick<HeaderProps, 'info' | 'actions'>) {
  const { conversation } = useTexts();
  const stopped = info?.status === 'STOPPED';
  return (
    <button
      type="button"
      className="button"
      disabled={info === undefined || actions.startingOrStopping}
      onClick={() => actions.startOrStop(stopped ? 'start' : 'stop')}
    >
      <Icon name={stopped ? 'play' : 'stop'} />
      <span className="button-text">{stopped ? conversation.resume : conversation.stop}</span>
    </button>
  );
}

/** Ends the turn of an agent that works or needs approval. */
function Interrupt({ info, activity, actions }: Pick<HeaderProps, 'info' | 'activity' | 'actions'>) {
  const { conversation } = useTexts();
  const { interrupt, interrupting } = actions;
  const isShown = info?.status === 'RUNNING' && (activity === 'running' || activity === 'needsApproval');
  const shortcuts = useMemo(() => (isShown ? { interrupt: () => interrupt() } : {}), [isShown, interrupt]);
  useShortcuts(shortcuts);
  if (!isShown) return null;
  return (
    <button
      type="button"
      className="button"
      disabled={interrupting}
      title={`${conversation.interruptHint} (Esc)`}
      onClick={() => interrupt()}
    >
      <Icon name="pause" />
      <span className="button-text">{conversation.interrupt}</span>
    </button>
  );
}

function MoreMenu({
  actions,
  onRename,
  onChoose,
  onDelete,
}: Omit<HeaderProps, 'info' | 'activity' | 'details'>) {
  const { conversation } = useTexts();
  const { download, downloading: disabled } = actions;
  return (
    <Menu
      label={conversation.menu}
      actions={[
        { label: conversation.rename, icon: 'edit', run: onRename },
        { label: conversation.choose, icon: 'gear', run: onChoose },
        { label: conversation.downloadLog, icon: 'download', run: () => download('log'), disabled },
        { label: conversation.downloadFiles, icon: 'file', run: () => download('files'), disabled },
        { label: conversation.delete, icon: 'trash', run: onDelete, danger: true },
      ]}
    />
  );
}

export function Header({ info, activity, details, ...rest }: HeaderProps) {
  const { conversation, shell } = useTexts();
  const title = visibleLine(info?.title ?? '');
  return (
    <header className="conversation-header">
      <Link href="/" className="button plain icon-only" aria-label={shell.toHome} title={shell.toHome}>
        <Icon name="back" />
      </Link>
      <div className="title-and-status">
        <h1 title={title}>{title}</h1>
        {info === undefined ? null : <StatusBadge info={info} activity={activity} />}
      </div>
      <p className="downloading muted" role="status">
        {rest.actions.downloading ? (
          <>
            <span className="spinner" /> <span className="button-text">{conversation.downloading}</span>
          </>
        ) : null}
      </p>
      <Interrupt info={info} activity={activity} actions={rest.actions} />
      <StartStop info={info} actions={rest.actions} />
      {details}
      <MoreMenu {...rest} />
    </header>
  );
}
