// Which model the agents use. The pattern for the other sections.
import { useQuery } from '@tanstack/react-query';
import { TextField } from '../parts/fields.tsx';
import { SecretField } from '../parts/SecretField.tsx';
import { useParley } from '../session/session.tsx';
import { useTexts } from '../texts/texts.tsx';
import { useSettingsForm } from './form.ts';
import { Section } from './Section.tsx';
import type { SectionProps } from './sections.ts';

export function ModelSection({ settings }: SectionProps) {
  const { model: texts } = useTexts().settings;
  const parley = useParley();
  const form = useSettingsForm('model', settings);
  const models = useQuery({
    queryKey: ['options', 'models'],
    queryFn: ({ signal }) => parley.options.models({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Section title={texts.title} lead={texts.lead} form={form}>
      <TextField
        label={texts.llm_model}
        hint={texts.llm_model_hint}
        mono
        value={form.text('llm_model')}
        onChange={(value) => form.set('llm_model', value || null)}
        suggestions={models.data}
        fault={form.fault('llm_model')}
      />
      <SecretField
        label={texts.llm_api_key}
        isSet={settings.llm_api_key_set}
        value={form.secret('llm_api_key')}
        onChange={(value) => form.setSecret('llm_api_key', value)}
        fault={form.fault('llm_api_key')}
      />
      <TextField
        label={texts.llm_base_url}
        hint={texts.llm_base_url_hint}
        type="url"
        mono
        value={form.text('llm_base_url')}
        onChange={(value) => form.set('llm_base_url', value || null)}
        fault={form.fault('llm_base_url')}
      />
    </Section>
  );
}
