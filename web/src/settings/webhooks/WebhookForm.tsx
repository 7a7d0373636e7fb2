// The form that creates a webhook.
import type { CreatedWebhook, WebhookEvent, WebhookFormat } from '../../../../src/client/parley.ts';
import { SelectField, TextField } from '../../components/fields.tsx';
import { useParley } from '../../session/session.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { EntryForm } from '../entries/EntryForm.tsx';
import { type EntryFormState, useEntryForm } from '../entries/useEntryForm.ts';
import { CheckboxGroup } from '../form/CheckboxGroup.tsx';

interface WebhookFields {
  readonly url: string;
  readonly format: WebhookFormat;
  readonly events: readonly WebhookEvent[];
  readonly description: string;
}

export const newWebhook: WebhookFields = {
  url: '',
  format: 'parley',
  events: ['conversation.status'],
  description: '',
};

/** Chat services get no conversation events: there are too many for people. */
function eventsOf(format: WebhookFormat, events: readonly WebhookEvent[]): WebhookEvent[] {
  return events.filter((event) => format === 'parley' || event !== 'conversation.event');
}

export function useWebhookForm(onCreated: (webhook: CreatedWebhook) => void) {
  const parley = useParley();
  return useEntryForm<WebhookFields, CreatedWebhook>('webhook', {
    empty: newWebhook,
    send: ({ fields: { url, format, events, description } }) =>
      parley.webhooks.create({
        url: url.trim(),
        format,
        events: eventsOf(format, events),
        description: description || null,
      }),
    onDone: onCreated,
    // The URL of a webhook is often a secret: anyone who knows it can post to the chat room.
    storable: (fields) => ({ ...fields, url: '' }),
  });
}

export function WebhookForm({ form }: { readonly form: EntryFormState<WebhookFields> }) {
  const { webhooks: texts } = useSettingsTexts();
  const { url, format, events, description } = form.fields;
  const fieldErrors = {
    url: form.fieldError('url'),
    format: form.fieldError('format'),
    events: form.fieldError('events'),
    description: form.fieldError('description'),
  };
  const all = eventsOf(format, Object.keys(texts.eventTexts) as WebhookEvent[]);
  const formats = Object.entries(texts.formats).map(([value, label]) => ({ value, label }));
  return (
    <EntryForm
      title={texts.add}
      form={form}
      atFields={form.hasFieldError(Object.keys(fieldErrors))}
      submit={texts.create}
    >
      <TextField
        label={texts.url}
        hint={texts.urlHint}
        type="url"
        mono
        value={url}
        onChange={(typed) => form.set({ url: typed })}
        error={fieldErrors.url}
      />
      <SelectField
        label={texts.format}
        hint={texts.formatHint}
        value={format}
        options={formats}
        onChange={(chosen) => form.set({ format: chosen as WebhookFormat })}
        error={fieldErrors.format}
      />
      <CheckboxGroup
        label={texts.events}
        options={all.map((value) => ({ value, label: texts.eventTexts[value], note: value }))}
        chosen={eventsOf(format, events)}
        onChange={(chosen) => form.set({ events: chosen })}
        error={fieldErrors.events}
      />
      <TextField
        label={texts.description}
        hint={texts.descriptionHint}
        value={description}
        onChange={(typed) => form.set({ description: typed })}
        error={fieldErrors.description}
      />
    </EntryForm>
  );
}
