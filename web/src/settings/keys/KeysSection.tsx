// Keys and tokens: which there are, making one, and revoking one.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { CreatedKey, KeyRecord, Scope } from '../../../../src/client/parley.ts';
import { ErrorCallout, Loading } from '../../parts/Callout.tsx';
import { ConfirmDialog } from '../../parts/ConfirmDialog.tsx';
import { readKey } from '../../session/key.ts';
import { useParley } from '../../session/session.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { useWords } from '../../texts/texts.tsx';
import { agoText, fullText } from '../../texts/time.ts';
import { Entries, Entry, EntryAction } from '../Entries.tsx';
import { Panel } from '../Section.tsx';
import { ShownOnce } from '../ShownOnce.tsx';
import { KeyForm, useKeyForm } from './KeyForm.tsx';
import { newKey } from './newKey.ts';

const keysKey = ['keys'];

/** As it is in the text of the key that this tab is signed in with. */
function ownId(): string | undefined {
  return readKey()?.split('_')[1];
}

function isPast({ revoked_at, expires_at }: KeyRecord): boolean {
  return revoked_at !== null || (expires_at !== null && Date.parse(expires_at) <= Date.now());
}

function useEndText({ revoked_at, expires_at }: KeyRecord): string | null {
  const { keys } = useSettingsTexts();
  const { language } = useWords();
  if (revoked_at !== null) return keys.revokedAt(fullText(revoked_at, language));
  if (expires_at === null) return null;
  const when = fullText(expires_at, language);
  return Date.parse(expires_at) <= Date.now() ? keys.ended(when) : keys.ends(when);
}

function KeyEntry({ record, onRevoke }: { readonly record: KeyRecord; readonly onRevoke?: () => void }) {
  const { keys } = useSettingsTexts();
  const { language, texts } = useWords();
  const { name, kind, scopes, created_at, last_used_at } = record;
  const ago = (iso: string) => agoText(iso, language, texts.shell.now);
  const facts = [
    keys.kinds[kind],
    keys.made(ago(created_at)),
    last_used_at === null ? keys.unused : keys.used(ago(last_used_at)),
    useEndText(record),
  ];
  return (
    <Entry
      name={name}
      badge={record.id === ownId() ? <span className="badge running">{keys.this}</span> : undefined}
      facts={facts}
      actions={
        onRevoke === undefined ? undefined : (
          <EntryAction label={keys.revoke} of={name} danger onClick={onRevoke} />
        )
      }
    >
      <ul className="tags" aria-label={keys.scopes}>
        {scopes.map((scope) => (
          <li key={scope}>
            <code title={keys.scopeTexts[scope]}>{scope}</code>
          </li>
        ))}
      </ul>
    </Entry>
  );
}

function KeyList({
  records,
  onRevoke,
}: {
  records: readonly KeyRecord[];
  onRevoke: (key: KeyRecord) => void;
}) {
  const { keys } = useSettingsTexts();
  const past = records.filter(isPast);
  return (
    <>
      <Entries>
        {records
          .filter((record) => !isPast(record))
          .map((record) => (
            <KeyEntry key={record.id} record={record} onRevoke={() => onRevoke(record)} />
          ))}
      </Entries>
      {past.length === 0 ? null : (
        <details className="past">
          <summary>{keys.past(past.length)}</summary>
          <Entries>
            {past.map((record) => (
              <KeyEntry key={record.id} record={record} />
            ))}
          </Entries>
        </details>
      )}
    </>
  );
}

function RevokeDialog({ record, onClose }: { readonly record: KeyRecord; readonly onClose: () => void }) {
  const { keys } = useSettingsTexts();
  const parley = useParley();
  const queries = useQueryClient();
  return (
    <ConfirmDialog
      title={keys.revokeTitle}
      name={record.name}
      action={keys.revoke}
      onConfirm={async () => {
        await parley.keys.revoke(record.id);
        await queries.invalidateQueries({ queryKey: keysKey });
      }}
      onClose={onClose}
    >
      {record.id === ownId() ? <p>{keys.revokeThis}</p> : null}
      <p className="quiet">{keys.revokeText}</p>
    </ConfirmDialog>
  );
}

export function KeysSection() {
  const { keys: texts } = useSettingsTexts();
  const { texts: words } = useWords();
  const parley = useParley();
  const queries = useQueryClient();
  const [made, setMade] = useState<CreatedKey>();
  const [revoking, setRevoking] = useState<KeyRecord>();
  const { data, error, refetch } = useQuery({
    queryKey: keysKey,
    queryFn: ({ signal }) => parley.keys.list({ signal }),
  });
  const own = data?.keys.find(({ id }) => id === ownId());
  const grantable = own?.scopes ?? (Object.keys(texts.scopeTexts) as Scope[]);
  const form = useKeyForm(grantable, (key) => {
    setMade(key);
    void queries.invalidateQueries({ queryKey: keysKey });
  });
  return (
    <Panel title={texts.title} lead={texts.lead}>
      {made === undefined ? null : (
        <ShownOnce title={texts.created(made.name)} text={made.key} onDone={() => setMade(undefined)} />
      )}
      {data === undefined && error === null ? <Loading>{words.shell.loading}</Loading> : null}
      <ErrorCallout error={error} onRetry={() => void refetch()} />
      {data === undefined ? null : <KeyList records={data.keys} onRevoke={setRevoking} />}
      {form.entry === null ? (
        <div className="row">
          <button type="button" className="button" onClick={() => form.open('', newKey)}>
            {texts.add}
          </button>
        </div>
      ) : (
        <KeyForm form={form} grantable={grantable} />
      )}
      {revoking === undefined ? null : (
        <RevokeDialog record={revoking} onClose={() => setRevoking(undefined)} />
      )}
    </Panel>
  );
}
