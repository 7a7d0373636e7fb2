// One conversation: its timeline as it grows, what can be said and done, and its details.
import { useMutation } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { ParleyError, type ParleyEvent } from '../../../src/client/parley.ts';
import { playSound } from '../live/sound.ts';
import { ErrorCallout, Loading } from '../parts/Callout.tsx';
import { Icon } from '../parts/Icon.tsx';
import { useParley, useSession } from '../session/session.tsx';
import { useSettings } from '../session/settings.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { useTexts } from '../texts/texts.tsx';
import { Details } from './Details.tsx';
import { DeleteDialog, RenameDialog } from './Dialogs.tsx';
import { saveFile } from './download.ts';
import { Header } from './Header.tsx';
import { activityOf, useInfo, useInfoAgain, useSteering } from './info.ts';
import { type LogView, useLog } from './log.ts';
import { Progress } from './Progress.tsx';
import { ConversationId } from './QuestionView.tsx';
import { TimelineView } from './TimelineView.tsx';
import { Writer } from './Writer.tsx';

/** States of the agent in which somebody is waited for. */
const waiting: ReadonlySet<unknown> = new Set([
  'awaiting_user_input',
  'awaiting_user_confirmation',
  'finished',
  'error',
]);
const wideEnough = '(width >= 70rem)';

/** Follows the log; each new state is a reason to ask how the conversation stands, and perhaps to sound. */
function useFollowedLog(id: string) {
  const parley = useParley();
  const { connection } = useSession();
  const { data: settings } = useSettings();
  const again = useInfoAgain(id);
  const sounds = useRef(false);
  sounds.current = settings?.enable_sound_notifications ?? false;
  const onLive = useCallback(
    ({ observation, extras }: ParleyEvent) => {
      if (observation !== 'agent_state_changed') return;
      again();
      if (sounds.current && waiting.has(extras?.['agent_state' as never])) playSound();
    },
    [again],
  );
  useEffect(() => () => connection.forget(), [connection]);
  return useLog({ parley, id, onStream: connection.report, onLive });
}

function useDownloads(id: string) {
  const parley = useParley();
  const log = useMutation({
    mutationFn: async () => saveFile(await parley.conversations.trajectoryFile(id), `${id}.json`),
  });
  const files = useMutation({
    mutationFn: async () => saveFile(await parley.workspace.zip(id), `${id}.zip`),
  });
  return { log, files, error: log.error ?? files.error };
}

function Failed({ log }: { readonly log: LogView & { readonly readAgain: () => void } }) {
  const { conversation, shell } = useTexts();
  const { refused } = useSession();
  const code = log.error instanceof ParleyError ? log.error.code : '';
  useEffect(() => {
    if (code === 'unauthorized') refused();
  }, [code, refused]);
  if (code === 'not_found')
    return (
      <div className="empty">
        <h1>{conversation.missing}</h1>
        <Link href="/">{shell.toHome}</Link>
      </div>
    );
  return (
    <div className="empty">
      <p>{conversation.failed}</p>
      <ErrorCallout error={log.error} onRetry={log.readAgain} />
    </div>
  );
}

export function Conversation({ id }: { readonly id: string }) {
  const { conversation: texts } = useTexts();
  const log = useFollowedLog(id);
  const { data: info } = useInfo(id);
  const again = useInfoAgain(id);
  const { start, stop } = useSteering(id);
  const downloads = useDownloads(id);
  const [dialog, setDialog] = useState<'rename' | 'delete'>();
  const [detailed, setDetailed] = useState(() => matchMedia(wideEnough).matches);
  useShortcuts(useMemo(() => ({ details: () => setDetailed((shown) => !shown) }), []));
  useEffect(() => {
    if (info !== undefined) document.title = `${info.title} · Parley`;
    return () => {
      document.title = 'Parley';
    };
  }, [info]);

  if (log.phase === 'failed') return <Failed log={log} />;
  const startAgain = () => start.mutate();
  return (
    <ConversationId value={id}>
      <div className={detailed ? 'conversation detailed' : 'conversation'}>
        <Header
          info={info}
          activity={activityOf(log.state)}
          busy={start.isPending || stop.isPending}
          onStop={() => stop.mutate()}
          onStart={startAgain}
          onRename={() => setDialog('rename')}
          onDelete={() => setDialog('delete')}
          onDownloadLog={() => downloads.log.mutate()}
          onDownloadFiles={() => downloads.files.mutate()}
          details={
            <button
              type="button"
              className="button only-icon"
              aria-label={texts.details}
              title={texts.details}
              aria-expanded={detailed}
              aria-controls="details"
              onClick={() => setDetailed(!detailed)}
            >
              <Icon name="panel" />
            </button>
          }
        />
        <ErrorCallout error={start.error ?? stop.error ?? downloads.error} />
        {log.phase === 'loading' ? <Loading>{texts.loading}</Loading> : <TimelineView items={log.items} />}
        <div className="foot">
          <Progress info={info} state={log.state} onStart={startAgain} />
          <Writer id={id} stopped={info?.status === 'STOPPED'} onSent={again} />
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
