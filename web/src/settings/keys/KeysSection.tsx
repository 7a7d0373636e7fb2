// API keys and tokens: the list, and creating and revoking one.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { CreatedKey, KeyRecord, Scope } from '../../../../src/client/parley.ts';
import { ErrorCallout, Loading } from '../../components/Callout.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { readKey } from '../../session/apiKey.ts';
import { useParley } from '../../session/session.tsx';
import { useMe } from '../../session/settings.ts';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { useLocale } from '../../texts/texts.tsx';
import { agoText, fullText } from '../../texts/time.ts';
import { Entry, EntryButton, EntryList } from '../entries/EntryList.tsx';
import { OneTimeSecret } from '../entries/OneTimeSecret.tsx';
import { Card } from '../form/Section.tsx';
import { KeyForm, useKeyForm } from './KeyForm.tsx';
import { newKey } from './newKey.ts';
import { SessionsCard } from './SessionsCard.tsx';

const keysKey = ['keys'];

/** The id of the key that this tab is signed in with; it is part of the key. */
function ownId(): string | undefined {
  return readKey()?.split('_')[1];
}

function isInactive({ revoked_at, expires_at }: KeyRecord): boolean {
  return revoked_at !== null || (expires_at !== null && Date.parse(expires_at) <= Date.now());
}

function useExpiryText({ revoked_at, expires_at }: KeyRecord): string | null {
  const { keys } = useSettingsTexts();
  const { language } = useLocale();
  if (revoked_at !== null) return keys.revokedAt(fullText(revoked_at, language));
  if (expires_at === null) return null;
  const when = fullText(expires_at, language);
  return Date.parse(expires_at) <= Date.now() ? keys.expiredAt(when) : keys.expiresAt(when);
}

function KeyEntry({ record, onRevoke }: { readonly record: KeyRecord; readonly onRevoke?: () => void }) {
  const { keys } = useSettingsTexts();
  const { language, texts } = useLocale();
  const { name, kind, scopes, created_at, last_used_at } = record;
  const ago = (iso: string) => agoText(iso, language, texts.shell.now);
  const facts = [
    keys.kinds[kind],
    keys.createdAt(ago(created_at)),
    last_used_at === null ? keys.unused : keys.used(ago(last_used_at)),
    useExpiryText(record),
  ];
  return (
    <Entry
      name={name}
      badge={record.id === ownId() ? <span className="badge running">{keys.current}</span> : undefined}
      facts={facts}
      actions={
        onRevoke === undefined ? undefined : (
          <EntryButton label={keys.revoke} entryName={name} danger onClick={onRevoke} />
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
  const inactive = records.filter(isInactive);
  return (
    <>
      <EntryList>
        {records
          .filter((record) => !isInactive(record))
          .map((record) => (
            <KeyEntry key={record.id} record={record} onRevoke={() => onRevoke(record)} />
          ))}
      </EntryList>
      {inactive.length === 0 ? null : (
        <details className="inactive-keys">
          <summary>{keys.inactive(inactive.length)}</summary>
          <EntryList>
            {inactive.map((record) => (
              <KeyEntry key={record.id} record={record} />
            ))}
          </EntryList>
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
      <p className="muted">{keys.revokeText}</p>
    </ConfirmDialog>
  );
}

export function KeysSection() {
  const { keys: texts } = useSettingsTexts();
  const { texts: words } = useLocale();
  const parley = useParley();
  const queries = useQueryClient();
  const [created, setCreated] = useState<CreatedKey>();
  const [revoking, setRevoking] = useState<KeyRecord>();
  const { data, error, refetch } = useQuery({
    queryKey: keysKey,
    queryFn: ({ signal }) => parley.keys.list({ signal }),
  });
  const { data: me } = useMe();
  const grantable = me?.scopes ?? (Object.keys(texts.scopeTexts) as Scope[]);
  const form = useKeyForm(grantable, (key) => {
    setCreated(key);
    void queries.invalidateQueries({ queryKey: keysKey });
  });
  return (
    <>
      <Card title={texts.title} lead={texts.lead}>
        {created === undefined ? null : (
          <OneTimeSecret
            title={texts.created(created.name)}
            text={created.key}
            onDone={() => setCreated(undefined)}
          />
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
      </Card>
      <SessionsCard />
    </>
  );
}
