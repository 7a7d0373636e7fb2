// Tool servers, as a form and as JSON, and the key of the web search.
import { useDraft } from '../../session/drafts.ts';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { useSettingsForm } from '../form.ts';
import { Member, SecretMemberField } from '../members.tsx';
import { Panel, Section } from '../Section.tsx';
import type { SectionProps } from '../sections.ts';
import { ServerList } from './ServerList.tsx';
import { ServersJson } from './ServersJson.tsx';

const views = ['form', 'json'] as const;

export function ToolsSection({ settings }: SectionProps) {
  const { tools: texts } = useSettingsTexts();
  const form = useSettingsForm('search', settings);
  const { draft, change } = useDraft<{ view: (typeof views)[number] }>('settings.toolsView', {
    view: 'form',
  });
  const config = settings.mcp_config;
  return (
    <>
      <Panel title={texts.title} lead={texts.lead}>
        <fieldset className="views" aria-label={texts.view}>
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
        <Member name="mcp_config">
          <div className="stack" hidden={draft.view !== 'form'}>
            <ServerList config={config} />
          </div>
          <div hidden={draft.view !== 'json'}>
            <ServersJson config={config} />
          </div>
        </Member>
      </Panel>
      <Section title={texts.search} form={form} part>
        <SecretMemberField form={form} name="search_api_key" isSet={settings.search_api_key_set} />
      </Section>
    </>
  );
}
