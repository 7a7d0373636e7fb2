// The language and sounds of the web UI, and settings that Parley only stores for other clients.
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { BrowserNotifications } from './BrowserNotifications.tsx';
import { languages } from './form/choices.ts';
import { Group, Section } from './form/Section.tsx';
import {
  SecretSettingField,
  SelectSettingField,
  TextSettingField,
  ToggleSettingField,
  YesNoSettingField,
} from './form/settingFields.tsx';
import { useSettingsForm } from './form/useSettingsForm.ts';
import type { SectionProps } from './sections.ts';

export function GeneralSection({ settings }: SectionProps) {
  const { general: texts, choices } = useSettingsTexts();
  const form = useSettingsForm('general', settings);
  return (
    <Section title={texts.title} lead={texts.lead} form={form}>
      <SelectSettingField
        form={form}
        name="language"
        choices={[{ value: '', label: choices.noLanguage }, ...languages]}
      />
      <ToggleSettingField form={form} name="enable_sound_notifications" />
      <BrowserNotifications />
      <Group title={texts.others} lead={texts.othersLead}>
        <TextSettingField form={form} name="email" type="email" />
        <ToggleSettingField form={form} name="enable_proactive_conversation_starters" />
        <ToggleSettingField form={form} name="enable_solvability_analysis" />
        <YesNoSettingField form={form} name="user_consents_to_analytics" />
        <TextSettingField form={form} name="sandbox_base_container_image" mono />
        <SecretSettingField form={form} name="sandbox_api_key" isSet={undefined} />
      </Group>
    </Section>
  );
}
