// Webhooks: which there are, making one, what could not be delivered, and removing one.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { CreatedWebhook, WebhookRecord } from '../../../../src/client/parley.ts';
import { ErrorCallout, Loading } from '../../parts/Callout.tsx';
import { ConfirmDialog } from '../../parts/ConfirmDialog.tsx';
import { useParley } from '../../session/session.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { useWords } from '../../texts/texts.tsx';
import { Entries, Entry, EntryAction } from '../Entries.tsx';
import { Panel } from '../Section.tsx';
import { ShownOnce } from '../ShownOnce.tsx';
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
  const { id, url, events, description, waiting, failed } = record;
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
      facts={[description, ...events.map((event) => webhooks.eventTexts[event])]}
      actions={
        <>
          <EntryAction
            label={webhooks.deliveries}
            of={url}
            expanded={open}
            onClick={() => setOpen((before) => !before)}
          />
          <EntryAction label={texts.remove} of={url} danger onClick={onRemove} />
        </>
      }
    >
      {open ? <Deliveries webhook={id} failed={failed} /> : null}
    </Entry>
  );
}

export function WebhooksSection() {
  const { webhooks: texts, remove } = useSettingsTexts();
  const { texts: words } = useWords();
  const parley = useParley();
  const queries = useQueryClient();
  const [made, setMade] = useState<CreatedWebhook>();
  const [removing, setRemoving] = useState<WebhookRecord>();
  const refresh = () => queries.invalidateQueries({ queryKey: webhooksKey });
  const { data, error, refetch } = useQuery({
    queryKey: webhooksKey,
    queryFn: ({ signal }) => parley.webhooks.list({ signal }),
  });
  const form = useWebhookForm((webhook) => {
    setMade(webhook);
    void refresh();
  });
  return (
    <Panel title={texts.title} lead={texts.lead}>
      {made === undefined ? null : (
        <ShownOnce title={texts.created} text={made.secret} onDone={() => setMade(undefined)} />
      )}
      {data === undefined && error === null ? <Loading>{words.shell.loading}</Loading> : null}
      <ErrorCallout error={error} onRetry={() => void refetch()} />
      {data === undefined ? null : (
        <Entries empty={texts.empty}>
          {data.webhooks.map((record) => (
            <WebhookEntry key={record.id} record={record} onRemove={() => setRemoving(record)} />
          ))}
        </Entries>
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
          <p className="quiet">{texts.removeText}</p>
        </ConfirmDialog>
      )}
    </Panel>
  );
}
