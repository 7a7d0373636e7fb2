// The settings of the agent, its approvals and its sandbox.
import { agentValue } from '../session/agentNames.ts';
import { useAgentChoices } from '../session/agents.ts';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { useOptionNames } from './form/choices.ts';
import { Group, Section } from './form/Section.tsx';
import {
  NumberSettingField,
  SelectSettingField,
  TextSettingField,
  ToggleSettingField,
} from './form/settingFields.tsx';
import { useSettingsForm } from './form/useSettingsForm.ts';
import type { SectionProps } from './sections.ts';

export function AgentSection({ settings }: SectionProps) {
  const { agent: texts, choices } = useSettingsTexts();
  const form = useSettingsForm('agent', settings);
  const { choices: agents, missingHint } = useAgentChoices();
  const agent = agentValue(form.text('agent'));
  const analyzers = useOptionNames('securityAnalyzers') ?? [];
  const names: Readonly<Record<string, string>> = { tool_kind: choices.tool_kind };
  const choice = (value: string) => ({ value, label: names[value] ?? value });
  return (
    <Section title={texts.title} lead={texts.lead} form={form}>
      <SelectSettingField form={form} name="agent" value={agent} choices={agents} hint={missingHint(agent)} />
      <ToggleSettingField form={form} name="confirmation_mode" />
      <SelectSettingField
        form={form}
        name="security_analyzer"
        choices={[{ value: '', label: choices.noAnalyzer }, ...analyzers.map(choice)]}
      />
      <Group title={texts.sandbox}>
        <TextSettingField form={form} name="sandbox_runtime_container_image" mono />
        <NumberSettingField form={form} name="remote_runtime_resource_factor" />
      </Group>
    </Section>
  );
}
