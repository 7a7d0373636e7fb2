// The model that agents use, and its limits.
import { useModelNames } from '../session/models.ts';
import { useKeyOfProvider, useOperatorKey } from '../session/providerKeys.ts';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { Group, Section } from './form/Section.tsx';
import {
  NumberSettingField,
  SecretSettingField,
  TextSettingField,
  ToggleSettingField,
} from './form/settingFields.tsx';
import { useSettingsForm } from './form/useSettingsForm.ts';
import { ProviderKeys } from './ProviderKeys.tsx';
import type { SectionProps } from './sections.ts';

export function ModelSection({ settings }: SectionProps) {
  const { model: texts } = useSettingsTexts();
  const form = useSettingsForm('model', settings);
  const provider = useKeyOfProvider();
  const isOperators = useOperatorKey();
  const ofProvider = provider === undefined ? undefined : texts.keyOfProvider(provider);
  return (
    <>
      <Section title={texts.title} lead={texts.lead} form={form}>
        <TextSettingField form={form} name="llm_model" mono suggestions={useModelNames()} />
        <SecretSettingField
          form={form}
          name="llm_api_key"
          isSet={settings.llm_api_key_set && !isOperators}
          instead={isOperators ? texts.keyOfOperator : ofProvider}
        />
        <TextSettingField form={form} name="llm_base_url" type="url" mono />
        <Group title={texts.limits}>
          <NumberSettingField form={form} name="max_iterations" />
          <NumberSettingField form={form} name="max_budget_per_task" />
          <ToggleSettingField form={form} name="enable_default_condenser" />
        </Group>
      </Section>
      <ProviderKeys />
    </>
  );
}
