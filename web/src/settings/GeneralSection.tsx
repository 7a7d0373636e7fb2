// How the page speaks to people, and what Parley keeps for other clients alone.
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { languages } from './choices.ts';
import { useSettingsForm } from './form.ts';
import {
  AnswerMemberField,
  ChoiceMemberField,
  SecretMemberField,
  SwitchMemberField,
  TextMemberField,
} from './members.tsx';
import { Group, Section } from './Section.tsx';
import type { SectionProps } from './sections.ts';

export function GeneralSection({ settings }: SectionProps) {
  const { general: texts, choices } = useSettingsTexts();
  const form = useSettingsForm('general', settings);
  return (
    <Section title={texts.title} lead={texts.lead} form={form}>
      <ChoiceMemberField
        form={form}
        name="language"
        choices={[{ value: '', label: choices.noLanguage }, ...languages]}
      />
      <SwitchMemberField form={form} name="enable_sound_notifications" />
      <Group title={texts.others} lead={texts.othersLead}>
        <TextMemberField form={form} name="email" type="email" />
        <SwitchMemberField form={form} name="enable_proactive_conversation_starters" />
        <SwitchMemberField form={form} name="enable_solvability_analysis" />
        <AnswerMemberField form={form} name="user_consents_to_analytics" />
        <TextMemberField form={form} name="sandbox_base_container_image" mono />
        <SecretMemberField form={form} name="sandbox_api_key" isSet={undefined} />
      </Group>
    </Section>
  );
}
