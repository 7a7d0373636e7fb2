// The form that makes a webhook.
import type { CreatedWebhook, WebhookEvent } from '../../../../src/client/parley.ts';
import { TextField } from '../../parts/fields.tsx';
import { useParley } from '../../session/session.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { CheckList } from '../CheckList.tsx';
import { EntryFrame } from '../EntryFrame.tsx';
import { type EntryForm, useEntryForm } from '../entry.ts';

interface WebhookFields {
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly description: string;
}

export const newWebhook: WebhookFields = { url: '', events: ['conversation.status'], description: '' };

export function useWebhookForm(onMade: (webhook: CreatedWebhook) => void) {
  const parley = useParley();
  return useEntryForm<WebhookFields, CreatedWebhook>('webhook', {
    empty: newWebhook,
    send: ({ fields: { url, events, description } }) =>
      parley.webhooks.create({ url: url.trim(), events: [...events], description: description || null }),
    onDone: onMade,
    // Whoever has the address of a chat room may write into it.
    storable: (fields) => ({ ...fields, url: '' }),
  });
}

export function WebhookForm({ form }: { readonly form: EntryForm<WebhookFields> }) {
  const { webhooks: texts } = useSettingsTexts();
  const { url, events, description } = form.fields;
  const faults = {
    url: form.fault('url'),
    events: form.fault('events'),
    description: form.fault('description'),
  };
  const all = Object.keys(texts.eventTexts) as WebhookEvent[];
  return (
    <EntryFrame
      title={texts.add}
      form={form}
      atFields={form.isSaidAt(Object.keys(faults))}
      submit={texts.create}
    >
      <TextField
        label={texts.url}
        hint={texts.urlHint}
        type="url"
        mono
        value={url}
        onChange={(typed) => form.set({ url: typed })}
        fault={faults.url}
      />
      <CheckList
        label={texts.events}
        options={all.map((value) => ({ value, label: texts.eventTexts[value], note: value }))}
        chosen={events}
        onChange={(chosen) => form.set({ events: chosen })}
        fault={faults.events}
      />
      <TextField
        label={texts.description}
        hint={texts.descriptionHint}
        value={description}
        onChange={(typed) => form.set({ description: typed })}
        fault={faults.description}
      />
    </EntryFrame>
  );
}
