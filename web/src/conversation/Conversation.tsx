// The screen of one conversation: header, timeline, message form and details.
import { useCallback, useContext, useEffect, useId, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { type ConversationInfo, ParleyError, type ParleyEvent } from '../../../src/client/parley.ts';
import { ErrorCallout, Loading } from '../components/Callout.tsx';
import { IconButton } from '../components/IconButton.tsx';
import { type Activity, activityOf, stoppedByItself } from '../components/status.ts';
import { visibleLine } from '../components/visibleText.ts';
import { useShortcuts } from '../layout/shortcuts.ts';
import { useApprovalNotification } from '../live/browserNotifications.ts';
import { useRestartCount } from '../live/connection.ts';
import { playSound } from '../live/sound.ts';
import { ActivePane, usePanes } from '../panes/panes.ts';
import { isUnauthorized, useParley, useSession } from '../session/session.tsx';
import { useSettings } from '../session/settings.ts';
import { useTexts } from '../texts/texts.tsx';
import { ItemFlags } from './content/itemFlags.ts';
import { ConversationId, streamName, useActions, useInfo, useRefreshInfo } from './conversationQueries.ts';
import { Details } from './details/Details.tsx';
import { ChoiceButton } from './footer/ChoiceButton.tsx';
import { MessageForm } from './footer/MessageForm.tsx';
import { StatusLine } from './footer/StatusLine.tsx';
import { ChoiceDialog } from './header/ChoiceDialog.tsx';
import { DeleteDialog, RenameDialog } from './header/Dialogs.tsx';
import { Header } from './header/Header.tsx';
import { useConversationMenu } from './header/menu.ts';
import { type LogView, useLog } from './log.ts';
import { useSeen } from './seen.ts';
import { useAway } from './timeline/away.ts';
import { TimelineView } from './timeline/TimelineView.tsx';

/** In these states the agent waits for the user. */
const waitingStates: ReadonlySet<unknown> = new Set(['awaiting_user_input', 'awaiting_user_confirmation']);
/** From this width on, the details are shown at first. */
const wideScreen = '(width >= 70rem)';
const narrowRem = 56;

/** Returns a stable function that plays a sound if the settings want it. */
function useNotificationSound(): () => void {
  const { data: settings } = useSettings();
  const wanted = useRef(false);
  wanted.current = settings?.enable_sound_notifications ?? false;
  return useCallback(() => {
    if (wanted.current) playSound();
  }, []);
}

/** Streams the log. Each new state of the agent refreshes the conversation, and may play a sound or show a notification. */
function useConversationLog(id: string, sound: () => void, title: string | undefined) {
  const notify = useApprovalNotification();
  const shownTitle = useRef(title);
  shownTitle.current = title;
  const parley = useParley();
  const { connection } = useSession();
  const refresh = useRefreshInfo(id);
  const restartCount = useRestartCount(connection);
  const stream = useMemo(() => connection.stream(streamName(id)), [connection, id]);
  const onLive = useCallback(
    (event: ParleyEvent) => {
      if (event.type !== 'observation.agent_state_changed') return;
      refresh();
      if (waitingStates.has(event.extras.agent_state)) sound();
      if (event.extras.agent_state === 'awaiting_user_confirmation') notify(id, shownTitle.current);
    },
    [refresh, sound, notify, id],
  );
  useEffect(() => () => stream.closed(), [stream]);
  return useLog({ parley, id, onStream: stream.report, onLive }, restartCount);
}

/** Plays a sound when the conversation stops without a request of the user. */
function useStopSound(info: ConversationInfo | undefined, sound: () => void): void {
  const before = useRef<ConversationInfo['status']>(undefined);
  useEffect(() => {
    if (info === undefined) return;
    const wasActive = before.current !== undefined && before.current !== 'STOPPED';
    before.current = info.status;
    if (wasActive && stoppedByItself(info)) sound();
  }, [info, sound]);
}

/** Marks the tab title with a dot while the agent waits for the user. Of two conversations, the active one has the title. */
function useTabTitle(info: ConversationInfo | undefined, activity: Activity | undefined): void {
  const isActive = useContext(ActivePane);
  const title = info && visibleLine(info.title);
  const isWaiting = info?.status === 'RUNNING' && (activity === 'waiting' || activity === 'needsApproval');
  useEffect(() => {
    if (!isActive) return;
    if (title !== undefined) document.title = `${isWaiting ? '● ' : ''}${title} · Parley`;
    return () => {
      document.title = 'Parley';
    };
  }, [title, isWaiting, isActive]);
}

function LogError({ id, error }: Pick<LogView, 'error'> & { readonly id: string }) {
  const { conversation, shell } = useTexts();
  const panes = usePanes();
  const { keyRejected, connection } = useSession();
  useEffect(() => {
    if (isUnauthorized(error)) keyRejected();
    // The service has rejected the stream, so the connection itself is fine.
    connection.expectEnd(streamName(id));
  }, [id, error, keyRejected, connection]);
  const missing = error instanceof ParleyError && error.code === 'not_found';
  return (
    <div className="empty">
      <h1>{missing ? conversation.missing : conversation.failed}</h1>
      {missing ? null : <ErrorCallout error={error} />}
      {panes.ids.length > 1 ? (
        <button type="button" className="button" onClick={() => panes.close(id)}>
          {shell.close}
        </button>
      ) : (
        <Link href="/">{shell.toHome}</Link>
      )}
    </div>
  );
}

/** Whether the details would cover the timeline. The same as in conversation.css. */
function isNarrow(element: HTMLElement | null): boolean {
  const remPx = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return element !== null && element.clientWidth < narrowRem * remPx;
}

export function Conversation({ id }: { readonly id: string }) {
  const { conversation: texts } = useTexts();
  const sound = useNotificationSound();
  const panes = usePanes();
  const { data: info, error: infoError, refetch } = useInfo(id);
  const log = useConversationLog(id, sound, info?.title);
  const refresh = useRefreshInfo(id);
  const actions = useActions(id);
  const [dialog, setDialog] = useState<'rename' | 'choose' | 'delete'>();
  const [showDetails, setShowDetails] = useState(
    () => panes.ids.length === 1 && matchMedia(wideScreen).matches,
  );
  const [itemFlags] = useState(() => new Map<string, boolean>());
  const element = useRef<HTMLDivElement>(null);
  const detailsId = useId();
  useShortcuts(useMemo(() => ({ details: () => setShowDetails((shown) => !shown) }), []));
  useStopSound(info, sound);
  const activity = activityOf(log.state.agentState);
  useTabTitle(info, activity);
  const away = useAway({
    conversationId: id,
    seenEventId: info?.seen_event_id,
    lastEventId: log.lastEventId,
  });
  useSeen(id, info, log, activity === 'running');
  const menu = useConversationMenu({ id, info, actions, setDialog });
  const [sentCount, setSentCount] = useState(0);
  const pendingEvent = log.state.approval?.event;
  // Two conversations have no space for details beside them.
  const isSplit = panes.ids.length > 1;
  useEffect(() => {
    if (isSplit) setShowDetails(false);
  }, [isSplit]);
  // On a narrow screen the details would cover the approval request.
  useEffect(() => {
    if (pendingEvent !== undefined && isNarrow(element.current)) setShowDetails(false);
  }, [pendingEvent]);

  function onSent() {
    refresh();
    setSentCount((count) => count + 1);
    if (isNarrow(element.current)) setShowDetails(false);
  }

  if (log.phase === 'refused') return <LogError id={id} error={log.error} />;
  return (
    <ConversationId value={id}>
      <div ref={element} className={showDetails ? 'conversation detailed' : 'conversation'}>
        <Header
          info={info}
          activity={activity}
          actions={actions}
          menu={menu}
          details={
            <IconButton
              icon="panel"
              label={texts.details}
              className=""
              aria-expanded={showDetails}
              aria-controls={detailsId}
              onClick={() => setShowDetails(!showDetails)}
            />
          }
        />
        <div className="errors">
          <ErrorCallout error={log.error} onRetry={log.retry} />
          {info === undefined ? <ErrorCallout error={infoError} onRetry={() => void refetch()} /> : null}
          <ErrorCallout error={actions.error} onClose={actions.clearError} />
        </div>
        {log.phase === 'loading' ? (
          <Loading>{texts.loading}</Loading>
        ) : (
          <ItemFlags value={itemFlags}>
            <TimelineView
              conversationId={id}
              items={log.items}
              away={away}
              pendingEvent={pendingEvent}
              sentCount={sentCount}
            />
          </ItemFlags>
        )}
        <div className="footer">
          <StatusLine info={info} state={log.state} items={log.items} />
          <MessageForm
            id={id}
            stopped={info?.status === 'STOPPED'}
            onSent={onSent}
            choice={
              info === undefined ? null : <ChoiceButton info={info} onClick={() => setDialog('choose')} />
            }
          />
        </div>
        {showDetails ? <Details id={id} elementId={detailsId} info={info} state={log.state} /> : null}
      </div>
      {info !== undefined && dialog === 'rename' ? (
        <RenameDialog info={info} onClose={() => setDialog(undefined)} />
      ) : null}
      {info !== undefined && dialog === 'choose' ? (
        <ChoiceDialog info={info} onClose={() => setDialog(undefined)} />
      ) : null}
      {info !== undefined && dialog === 'delete' ? (
        <DeleteDialog info={info} onClose={() => setDialog(undefined)} />
      ) : null}
    </ConversationId>
  );
}
