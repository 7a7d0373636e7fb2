// Who does the work, when it asks, and the sandbox that it works in.
import { agentValue, useAgentChoices } from '../session/agents.ts';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { useNames } from './choices.ts';
import { useSettingsForm } from './form.ts';
import { ChoiceMemberField, NumberMemberField, SwitchMemberField, TextMemberField } from './members.tsx';
import { Group, Section } from './Section.tsx';
import type { SectionProps } from './sections.ts';

export function AgentSection({ settings }: SectionProps) {
  const { agent: texts, choices } = useSettingsTexts();
  const form = useSettingsForm('agent', settings);
  const analyzers = useNames('securityAnalyzers') ?? [];
  const names: Readonly<Record<string, string>> = { tool_kind: choices.tool_kind };
  const choice = (value: string) => ({ value, label: names[value] ?? value });
  return (
    <Section title={texts.title} lead={texts.lead} form={form}>
      <ChoiceMemberField
        form={form}
        name="agent"
        value={agentValue(form.text('agent'))}
        choices={useAgentChoices()}
      />
      <SwitchMemberField form={form} name="confirmation_mode" />
      <ChoiceMemberField
        form={form}
        name="security_analyzer"
        choices={[{ value: '', label: choices.noAnalyzer }, ...analyzers.map(choice)]}
      />
      <Group title={texts.sandbox}>
        <TextMemberField form={form} name="sandbox_runtime_container_image" mono />
        <NumberMemberField form={form} name="remote_runtime_resource_factor" />
      </Group>
    </Section>
  );
}
