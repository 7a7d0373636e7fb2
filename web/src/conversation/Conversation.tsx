// One conversation: its timeline as it grows, what can be said and done, and its details.

import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { type ConversationInfo, ParleyError, type ParleyEvent } from '../../../src/client/parley.ts';
import { ErrorCallout, Loading } from '../components/Callout.tsx';
import { IconButton } from '../components/IconButton.tsx';
import { type Activity, activityOf, stoppedByItself } from '../components/status.ts';
import { visibleLine } from '../components/visibleText.ts';
import { useShortcuts } from '../layout/shortcuts.ts';
import { useRestartCount } from '../live/connection.ts';
import { playSound } from '../live/sound.ts';
import { isUnauthorized, useParley, useSession } from '../session/session.tsx';
import { useSettings } from '../session/settings.ts';
import { useTexts } from '../texts/texts.tsx';
import { useActions, useInfo, useRefreshInfo } from './conversationQueries.ts';
import { DeleteDialog, RenameDialog } from './Dialogs.tsx';
import { Details } from './details/Details.tsx';
import { Header } from './Header.tsx';
import { type LogView, useLog } from './log.ts';
import { MessageForm } from './MessageForm.tsx';
import { Progress } from './Progress.tsx';
import { ConversationId } from './QuestionView.tsx';
import { TimelineView } from './TimelineView.tsx';
import { Unfolded } from './unfolded.ts';

/** States of the agent in which somebody is waited for. */
const waiting: ReadonlySet<unknown> = new Set(['awaiting_user_input', 'awaiting_user_confirmation']);
const wideEnough = '(width >= 70rem)';
/** As in the style: the details lie over the timeline. */
const overlaid = '(width < 56rem)';

/** Sounds where the settings want it. It stays the same function. */
function useSound(): () => void {
  const { data: settings } = useSettings();
  const wanted = useRef(false);
  wanted.current = settings?.enable_sound_notifications ?? false;
  return useCallback(() => {
    if (wanted.current) playSound();
  }, []);
}

/** Follows the log; each new state is a reason to ask how the conversation stands, and perhaps to sound. */
function useFollowedLog(id: string, sound: () => void) {
  const parley = useParley();
  const { connection } = useSession();
  const again = useRefreshInfo(id);
  const restartCount = useRestartCount(connection);
  const onLive = useCallback(
    (event: ParleyEvent) => {
      if (event.type !== 'observation.agent_state_changed') return;
      again();
      if (waiting.has(event.extras.agent_state)) sound();
    },
    [again, sound],
  );
  useEffect(() => () => connection.streamClosed(), [connection]);
  return useLog({ parley, id, onStream: connection.report, onLive }, restartCount);
}

/** An end that somebody sees coming, because they asked for it, needs no sound. */
function useSoundAtEnd(info: ConversationInfo | undefined, sound: () => void): void {
  const before = useRef<ConversationInfo['status']>(undefined);
  useEffect(() => {
    if (info === undefined) return;
    const lived = before.current !== undefined && before.current !== 'STOPPED';
    before.current = info.status;
    if (lived && stoppedByItself(info)) sound();
  }, [info, sound]);
}

/** With a sign where somebody is waited for, to be seen among other tabs. */
function useTitle(info: ConversationInfo | undefined, activity: Activity | undefined): void {
  const title = info && visibleLine(info.title);
  const waits = info?.status === 'RUNNING' && (activity === 'waiting' || activity === 'asking');
  useEffect(() => {
    if (title !== undefined) document.title = `${waits ? '● ' : ''}${title} · Parley`;
    return () => {
      document.title = 'Parley';
    };
  }, [title, waits]);
}

function Refused({ error }: Pick<LogView, 'error'>) {
  const { conversation, shell } = useTexts();
  const { keyRejected, connection } = useSession();
  useEffect(() => {
    if (isUnauthorized(error)) keyRejected();
    // There was an answer: nothing is lost.
    connection.expectEnd();
  }, [error, keyRejected, connection]);
  const missing = error instanceof ParleyError && error.code === 'not_found';
  return (
    <div className="empty">
      <h1>{missing ? conversation.missing : conversation.failed}</h1>
      {missing ? null : <ErrorCallout error={error} />}
      <Link href="/">{shell.toHome}</Link>
    </div>
  );
}

export function Conversation({ id }: { readonly id: string }) {
  const { conversation: texts } = useTexts();
  const sound = useSound();
  const log = useFollowedLog(id, sound);
  const { data: info, error: infoError, refetch } = useInfo(id);
  const again = useRefreshInfo(id);
  const actions = useActions(id);
  const [dialog, setDialog] = useState<'rename' | 'delete'>();
  const [detailed, setDetailed] = useState(() => matchMedia(wideEnough).matches);
  const [unfolded] = useState(() => new Map<string, boolean>());
  useShortcuts(useMemo(() => ({ details: () => setDetailed((shown) => !shown) }), []));
  useSoundAtEnd(info, sound);
  const activity = activityOf(log.state.agentState);
  useTitle(info, activity);
  const [sent, setSent] = useState(0);
  const asked = log.state.question?.event;
  // Where they lie over the timeline, they would hide what the agent asks.
  useEffect(() => {
    if (asked !== undefined && matchMedia(overlaid).matches) setDetailed(false);
  }, [asked]);

  function onSent() {
    again();
    setSent((before) => before + 1);
    if (matchMedia(overlaid).matches) setDetailed(false);
  }

  if (log.phase === 'refused') return <Refused error={log.error} />;
  return (
    <ConversationId value={id}>
      <div className={detailed ? 'conversation detailed' : 'conversation'}>
        <Header
          info={info}
          activity={activity}
          actions={actions}
          onRename={() => setDialog('rename')}
          onDelete={() => setDialog('delete')}
          details={
            <IconButton
              icon="panel"
              label={texts.details}
              className=""
              aria-expanded={detailed}
              aria-controls="details"
              onClick={() => setDetailed(!detailed)}
            />
          }
        />
        <div className="faults">
          <ErrorCallout error={log.error} onRetry={log.retry} />
          {info === undefined ? <ErrorCallout error={infoError} onRetry={() => void refetch()} /> : null}
          <ErrorCallout error={actions.error} onClose={actions.clearError} />
        </div>
        {log.phase === 'loading' ? (
          <Loading>{texts.loading}</Loading>
        ) : (
          <Unfolded value={unfolded}>
            <TimelineView items={log.items} sent={sent} />
          </Unfolded>
        )}
        <div className="foot">
          <Progress info={info} state={log.state} items={log.items} />
          <MessageForm id={id} stopped={info?.status === 'STOPPED'} onSent={onSent} />
        </div>
        {detailed ? <Details id={id} info={info} state={log.state} /> : null}
      </div>
      {info !== undefined && dialog === 'rename' ? (
        <RenameDialog info={info} onClose={() => setDialog(undefined)} />
      ) : null}
      {info !== undefined && dialog === 'delete' ? (
        <DeleteDialog info={info} onClose={() => setDialog(undefined)} />
      ) : null}
    </ConversationId>
  );
}
