// Which model the agents use, and what it may take.
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { useNames } from './choices.ts';
import { useSettingsForm } from './form.ts';
import { NumberMemberField, SecretMemberField, SwitchMemberField, TextMemberField } from './members.tsx';
import { Group, Section } from './Section.tsx';
import type { SectionProps } from './sections.ts';

export function ModelSection({ settings }: SectionProps) {
  const { model: texts } = useSettingsTexts();
  const form = useSettingsForm('model', settings);
  const models = useNames('models');
  return (
    <Section title={texts.title} lead={texts.lead} form={form}>
      <TextMemberField form={form} name="llm_model" mono suggestions={models} />
      <SecretMemberField form={form} name="llm_api_key" isSet={settings.llm_api_key_set} />
      <TextMemberField form={form} name="llm_base_url" type="url" mono />
      <Group title={texts.limits}>
        <NumberMemberField form={form} name="max_iterations" />
        <NumberMemberField form={form} name="max_budget_per_task" />
        <SwitchMemberField form={form} name="enable_default_condenser" />
      </Group>
    </Section>
  );
}
