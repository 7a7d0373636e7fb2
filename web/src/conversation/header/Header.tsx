// The header of a conversation: title, status and actions.
import { type ReactNode, useContext, useMemo } from 'react';
import { Link } from 'wouter';
import type { ConversationInfo } from '../../../../src/client/parley.ts';
import { Icon } from '../../components/Icon.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { type Action, Menu } from '../../components/Menu.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import type { Activity } from '../../components/status.ts';
import { visibleLine } from '../../components/visibleText.ts';
import { useShortcuts } from '../../layout/shortcuts.ts';
import { usePanes } from '../../panes/panes.ts';
import { useTexts } from '../../texts/texts.tsx';
import { ConversationId, type useActions } from '../conversationQueries.ts';

interface HeaderProps {
  readonly info: ConversationInfo | undefined;
  readonly activity: Activity | undefined;
  readonly actions: ReturnType<typeof useActions>;
  /** What the menu offers. */
  readonly menu: readonly Action[];
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

/** In a split: goes to the other conversation, where there is space for one only, and closes this one. */
function PaneButtons({ id }: { readonly id: string }) {
  const { sidebar, shortcuts } = useTexts();
  const { ids, open, close } = usePanes();
  const other = ids.find((each) => each !== id);
  if (other === undefined) return null;
  return (
    <>
      <IconButton
        icon="split"
        label={shortcuts.pane}
        className="plain other-pane"
        onClick={() => open(other)}
      />
      <IconButton icon="close" label={sidebar.closePane} onClick={() => close(id)} />
    </>
  );
}

export function Header({ info, activity, actions, menu, details }: HeaderProps) {
  const { conversation, shell } = useTexts();
  const title = visibleLine(info?.title ?? '');
  return (
    <header className="conversation-header">
      <Link
        href="/"
        className="button plain icon-only phone-only"
        aria-label={shell.toHome}
        title={shell.toHome}
      >
        <Icon name="back" />
      </Link>
      <div className="title-and-status">
        <h1 title={title}>{title}</h1>
        {info === undefined ? null : <StatusBadge info={info} activity={activity} />}
      </div>
      <p className="downloading muted" role="status">
        {actions.downloading ? (
          <>
            <span className="spinner" /> <span className="button-text">{conversation.downloading}</span>
          </>
        ) : null}
      </p>
      <Interrupt info={info} activity={activity} actions={actions} />
      <StartStop info={info} actions={actions} />
      {details}
      <Menu label={conversation.menu} actions={() => menu} />
      <PaneButtons id={useContext(ConversationId)} />
    </header>
  );
}
