// The form that creates a webhook.
import type { CreatedWebhook, WebhookEvent } from '../../../../src/client/parley.ts';
import { TextField } from '../../components/fields.tsx';
import { useParley } from '../../session/session.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { EntryForm } from '../entries/EntryForm.tsx';
import { type EntryFormState, useEntryForm } from '../entries/useEntryForm.ts';
import { CheckboxGroup } from '../form/CheckboxGroup.tsx';

interface WebhookFields {
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly description: string;
}

export const newWebhook: WebhookFields = { url: '', events: ['conversation.status'], description: '' };

export function useWebhookForm(onCreated: (webhook: CreatedWebhook) => void) {
  const parley = useParley();
  return useEntryForm<WebhookFields, CreatedWebhook>('webhook', {
    empty: newWebhook,
    send: ({ fields: { url, events, description } }) =>
      parley.webhooks.create({ url: url.trim(), events: [...events], description: description || null }),
    onDone: onCreated,
    // The URL of a webhook is often a secret: anyone who knows it can post to the chat room.
    storable: (fields) => ({ ...fields, url: '' }),
  });
}

export function WebhookForm({ form }: { readonly form: EntryFormState<WebhookFields> }) {
  const { webhooks: texts } = useSettingsTexts();
  const { url, events, description } = form.fields;
  const fieldErrors = {
    url: form.fieldError('url'),
    events: form.fieldError('events'),
    description: form.fieldError('description'),
  };
  const all = Object.keys(texts.eventTexts) as WebhookEvent[];
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
      <CheckboxGroup
        label={texts.events}
        options={all.map((value) => ({ value, label: texts.eventTexts[value], note: value }))}
        chosen={events}
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
