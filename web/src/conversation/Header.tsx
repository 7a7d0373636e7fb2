// The head of a conversation: what it is called, how it stands, and what can be done with it.
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { Icon, type IconName } from '../parts/Icon.tsx';
import { type Activity, StatusBadge } from '../parts/StatusBadge.tsx';
import { useTexts } from '../texts/texts.tsx';

interface Action {
  readonly label: string;
  readonly icon: IconName;
  readonly run: () => void;
  readonly danger?: boolean;
}

/** A list of buttons behind one; Escape and a click elsewhere close it. */
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
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      setOpen(false);
      opener.current?.focus();
    };
    addEventListener('pointerdown', onPointer);
    addEventListener('keydown', onKey);
    return () => {
      removeEventListener('pointerdown', onPointer);
      removeEventListener('keydown', onKey);
    };
  }, [open]);

  return (
    <div className="menu" ref={menu}>
      <button
        ref={opener}
        type="button"
        className="button only-icon"
        aria-label={label}
        title={label}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Icon name="more" />
      </button>
      {open ? (
        <ul>
          {actions.map((action) => (
            <li key={action.label}>
              <button
                type="button"
                className={action.danger ? 'danger' : undefined}
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
  readonly busy: boolean;
  readonly onStop: () => void;
  readonly onStart: () => void;
  readonly onRename: () => void;
  readonly onDelete: () => void;
  readonly onDownloadLog: () => void;
  readonly onDownloadFiles: () => void;
  readonly details: ReactNode;
}

export function Header(props: HeaderProps) {
  const { conversation, shell } = useTexts();
  const { info, busy } = props;
  const stopped = info?.status === 'STOPPED';
  return (
    <header className="conversation-head">
      <Link href="/" className="button plain only-icon" aria-label={shell.toHome} title={shell.toHome}>
        <Icon name="back" />
      </Link>
      <div className="what">
        <h1 title={info?.title}>{info?.title ?? ''}</h1>
        {info === undefined ? null : <StatusBadge info={info} activity={props.activity} />}
      </div>
      <button
        type="button"
        className="button"
        disabled={info === undefined || busy}
        onClick={stopped ? props.onStart : props.onStop}
      >
        <Icon name={stopped ? 'play' : 'stop'} />
        <span className="button-text">{stopped ? conversation.start : conversation.stop}</span>
      </button>
      {props.details}
      <Menu
        label={conversation.menu}
        actions={[
          { label: conversation.rename, icon: 'edit', run: props.onRename },
          { label: conversation.downloadLog, icon: 'download', run: props.onDownloadLog },
          { label: conversation.downloadFiles, icon: 'file', run: props.onDownloadFiles },
          { label: conversation.delete, icon: 'trash', run: props.onDelete, danger: true },
        ]}
      />
    </header>
  );
}
