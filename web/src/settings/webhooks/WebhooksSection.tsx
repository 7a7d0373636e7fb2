// Webhooks: the list with their deliveries, and creating and removing one.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { CreatedWebhook, WebhookRecord } from '../../../../src/client/parley.ts';
import { ErrorCallout, Loading } from '../../components/Callout.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { useParley } from '../../session/session.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { useLocale } from '../../texts/texts.tsx';
import { Entry, EntryButton, EntryList } from '../entries/EntryList.tsx';
import { OneTimeSecret } from '../entries/OneTimeSecret.tsx';
import { Card } from '../form/Section.tsx';
import { Deliveries, webhooksKey } from './Deliveries.tsx';
import { newWebhook, useWebhookForm, WebhookForm } from './WebhookForm.tsx';

function WebhookEntry({
  record,
  onRemove,
}: {
  readonly record: WebhookRecord;
  readonly onRemove: () => void;
}) {
  const texts = useSettingsTexts();
  const { webhooks } = texts;
  const [open, setOpen] = useState(false);
  const { id, url, format, events, description, waiting, failed } = record;
  const badge =
    failed > 0 ? (
      <span className="badge failed">{webhooks.failed(failed)}</span>
    ) : waiting > 0 ? (
      <span className="badge waiting">{webhooks.waiting(waiting)}</span>
    ) : undefined;
  return (
    <Entry
      name={url}
      mono
      badge={badge}
      facts={[description, webhooks.formats[format], ...events.map((event) => webhooks.eventTexts[event])]}
      actions={
        <>
          <EntryButton
            label={webhooks.deliveries}
            entryName={url}
            expanded={open}
            onClick={() => setOpen((before) => !before)}
          />
          <EntryButton label={texts.remove} entryName={url} danger onClick={onRemove} />
        </>
      }
    >
      {open ? <Deliveries webhook={id} failed={failed} /> : null}
    </Entry>
  );
}

export function WebhooksSection() {
  const { webhooks: texts, remove } = useSettingsTexts();
  const { texts: words } = useLocale();
  const parley = useParley();
  const queries = useQueryClient();
  const [created, setCreated] = useState<CreatedWebhook>();
  const [removing, setRemoving] = useState<WebhookRecord>();
  const refresh = () => queries.invalidateQueries({ queryKey: webhooksKey });
  const { data, error, refetch } = useQuery({
    queryKey: webhooksKey,
    queryFn: ({ signal }) => parley.webhooks.list({ signal }),
  });
  const form = useWebhookForm((webhook) => {
    // A chat service cannot verify signatures.
    setCreated(webhook.format === 'parley' ? webhook : undefined);
    void refresh();
  });
  return (
    <Card title={texts.title} lead={texts.lead}>
      {created === undefined ? null : (
        <OneTimeSecret title={texts.created} text={created.secret} onDone={() => setCreated(undefined)} />
      )}
      {data === undefined && error === null ? <Loading>{words.shell.loading}</Loading> : null}
      <ErrorCallout error={error} onRetry={() => void refetch()} />
      {data === undefined ? null : (
        <EntryList empty={texts.empty}>
          {data.webhooks.map((record) => (
            <WebhookEntry key={record.id} record={record} onRemove={() => setRemoving(record)} />
          ))}
        </EntryList>
      )}
      {form.entry === null ? (
        <div className="row">
          <button type="button" className="button" onClick={() => form.open('', newWebhook)}>
            {texts.add}
          </button>
        </div>
      ) : (
        <WebhookForm form={form} />
      )}
      {removing === undefined ? null : (
        <ConfirmDialog
          title={texts.removeTitle}
          name={removing.url}
          action={remove}
          onConfirm={() => parley.webhooks.delete(removing.id).finally(refresh)}
          onClose={() => setRemoving(undefined)}
        >
          <p className="muted">{texts.removeText}</p>
        </ConfirmDialog>
      )}
    </Card>
  );
}
