// Where the user is signed in with the provider, below their API keys. Users who are not see nothing of it.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { SessionRecord } from '../../../../src/client/parley.ts';
import { ErrorCallout } from '../../components/Callout.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { visibleLine } from '../../components/visibleText.ts';
import { useParley, useSession } from '../../session/session.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { useLocale } from '../../texts/texts.tsx';
import { agoText } from '../../texts/time.ts';
import { Entry, EntryButton, EntryList } from '../entries/EntryList.tsx';
import { Card } from '../form/Section.tsx';
import { browserName } from './browserName.ts';

const sessionsKey = ['sessions'];

interface SessionEntryProps {
  readonly record: SessionRecord;
  readonly onEnd: () => void;
}

function SessionEntry({ record, onEnd }: SessionEntryProps) {
  const { keys, sessions } = useSettingsTexts();
  const { language, texts } = useLocale();
  const { browser, is_current, created_at, last_used_at } = record;
  const ago = (iso: string) => agoText(iso, language, texts.shell.now);
  const name = visibleLine(browserName(browser) ?? sessions.unknownBrowser);
  return (
    <Entry
      name={name}
      badge={is_current ? <span className="badge running">{keys.current}</span> : undefined}
      facts={[keys.createdAt(ago(created_at)), keys.used(ago(last_used_at))]}
      actions={<EntryButton label={sessions.end} entryName={name} danger onClick={onEnd} />}
    />
  );
}

export function SessionsCard() {
  const { sessions: texts } = useSettingsTexts();
  const parley = useParley();
  const session = useSession();
  const queries = useQueryClient();
  const [endsAll, setEndsAll] = useState(false);
  const { data } = useQuery({
    queryKey: sessionsKey,
    queryFn: ({ signal }) => parley.sessions.list({ signal }),
  });
  const end = useMutation({
    mutationFn: ({ id }: SessionRecord) => parley.sessions.end(id),
    onSuccess: () => queries.invalidateQueries({ queryKey: sessionsKey }),
  });
  if (data === undefined || data.sessions.length === 0) return null;
  const isSignedInHere = data.sessions.some(({ is_current }) => is_current);
  return (
    <Card title={texts.title} lead={texts.lead} part>
      <EntryList>
        {data.sessions.map((record) => (
          <SessionEntry
            key={record.id}
            record={record}
            onEnd={() => (record.is_current ? session.signOut() : end.mutate(record))}
          />
        ))}
      </EntryList>
      <ErrorCallout error={end.error} />
      <div className="row">
        <button type="button" className="button danger" onClick={() => setEndsAll(true)}>
          {texts.endAll}
        </button>
      </div>
      {endsAll ? (
        <ConfirmDialog
          title={texts.endAllTitle}
          action={texts.endAll}
          onConfirm={async () => {
            await parley.sessions.endAll();
            if (isSignedInHere) session.signOut();
            else await queries.invalidateQueries({ queryKey: sessionsKey });
          }}
          onClose={() => setEndsAll(false)}
        >
          <p className="muted">{texts.endAllText}</p>
        </ConfirmDialog>
      ) : null}
    </Card>
  );
}
