// The author of commits, and the access tokens of git providers.
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { Section } from '../form/Section.tsx';
import { TextSettingField } from '../form/settingFields.tsx';
import { useSettingsForm } from '../form/useSettingsForm.ts';
import type { SectionProps } from '../sections.ts';
import { GitTokens } from './GitTokens.tsx';

export function GitSection({ settings }: SectionProps) {
  const { git } = useSettingsTexts();
  const form = useSettingsForm('git', settings);
  return (
    <>
      <Section title={git.title} lead={git.lead} form={form}>
        <TextSettingField form={form} name="git_user_name" />
        <TextSettingField form={form} name="git_user_email" type="email" />
      </Section>
      <GitTokens stored={settings.provider_tokens_set} />
    </>
  );
}
