// Git: whose name is on commits, and the tokens of providers.
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { useSettingsForm } from './form.ts';
import { GitTokens } from './GitTokens.tsx';
import { TextMemberField } from './members.tsx';
import { Section } from './Section.tsx';
import type { SectionProps } from './sections.ts';

export function GitSection({ settings }: SectionProps) {
  const { git } = useSettingsTexts();
  const form = useSettingsForm('git', settings);
  return (
    <>
      <Section title={git.title} lead={git.lead} form={form}>
        <TextMemberField form={form} name="git_user_name" />
        <TextMemberField form={form} name="git_user_email" type="email" />
      </Section>
      <GitTokens stored={settings.provider_tokens_set} />
    </>
  );
}
