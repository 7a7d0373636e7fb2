// The MCP servers, as a form and as JSON, and the API key for web search.
import { useDraft } from '../../session/drafts.ts';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { Card, Section } from '../form/Section.tsx';
import { SecretSettingField, SettingField } from '../form/settingFields.tsx';
import { useSettingsForm } from '../form/useSettingsForm.ts';
import type { SectionProps } from '../sections.ts';
import { JsonEditor } from './JsonEditor.tsx';
import { ServerList } from './ServerList.tsx';

const views = ['form', 'json'] as const;

export function McpServersSection({ settings }: SectionProps) {
  const { tools: texts } = useSettingsTexts();
  const form = useSettingsForm('search', settings);
  const { draft, change } = useDraft<{ view: (typeof views)[number] }>('settings.toolsView', {
    view: 'form',
  });
  const config = settings.mcp_config;
  return (
    <>
      <Card title={texts.title} lead={texts.lead}>
        <fieldset className="view-switch" aria-label={texts.view}>
          {views.map((view) => (
            <button
              key={view}
              type="button"
              aria-pressed={draft.view === view}
              onClick={() => change({ view })}
            >
              {texts[view]}
            </button>
          ))}
        </fieldset>
        <SettingField name="mcp_config">
          <div className="stack" hidden={draft.view !== 'form'}>
            <ServerList config={config} />
          </div>
          <div hidden={draft.view !== 'json'}>
            <JsonEditor config={config} />
          </div>
        </SettingField>
      </Card>
      <Section title={texts.search} form={form} part>
        <SecretSettingField form={form} name="search_api_key" isSet={settings.search_api_key_set} />
      </Section>
    </>
  );
}
