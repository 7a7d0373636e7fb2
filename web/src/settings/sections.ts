// The sections of the settings, in order. A new section needs a component, an entry here, and texts in both languages.
import type { ComponentType } from 'react';
import type { Settings } from '../../../src/client/parley.ts';
import type { SettingsTexts } from '../texts/settings/en.ts';
import { AboutSection } from './AboutSection.tsx';
import { AgentSection } from './AgentSection.tsx';
import { GeneralSection } from './GeneralSection.tsx';
import { GitSection } from './git/GitSection.tsx';
import { KeysSection } from './keys/KeysSection.tsx';
import { ModelSection } from './ModelSection.tsx';
import { McpServersSection } from './mcpServers/McpServersSection.tsx';
import { SecretsSection } from './SecretsSection.tsx';
import { WebhooksSection } from './webhooks/WebhooksSection.tsx';

export interface SectionProps {
  readonly settings: Settings;
}

interface SettingsSection {
  /** Part of the URL, such as /settings/model. */
  readonly id: string;
  readonly title: (texts: SettingsTexts) => string;
  readonly Component: ComponentType<SectionProps>;
}

export const sections: readonly SettingsSection[] = [
  { id: 'model', title: ({ model }) => model.title, Component: ModelSection },
  { id: 'agent', title: ({ agent }) => agent.title, Component: AgentSection },
  { id: 'general', title: ({ general }) => general.title, Component: GeneralSection },
  { id: 'git', title: ({ git }) => git.title, Component: GitSection },
  { id: 'tools', title: ({ tools }) => tools.title, Component: McpServersSection },
  { id: 'secrets', title: ({ secrets }) => secrets.title, Component: SecretsSection },
  { id: 'keys', title: ({ keys }) => keys.title, Component: KeysSection },
  { id: 'webhooks', title: ({ webhooks }) => webhooks.title, Component: WebhooksSection },
  { id: 'about', title: ({ about }) => about.title, Component: AboutSection },
];
