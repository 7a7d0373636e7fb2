// The sections of the settings, in their order. A new one: its component, an entry here, its texts in both catalogues.
import type { ComponentType } from 'react';
import type { Settings } from '../../../src/client/parley.ts';
import type { SettingsTexts } from '../texts/settings/en.ts';
import { AboutSection } from './AboutSection.tsx';
import { AgentSection } from './AgentSection.tsx';
import { GeneralSection } from './GeneralSection.tsx';
import { GitSection } from './GitSection.tsx';
import { KeysSection } from './keys/KeysSection.tsx';
import { ModelSection } from './ModelSection.tsx';
import { SecretsSection } from './SecretsSection.tsx';
import { ToolsSection } from './tools/ToolsSection.tsx';
import { WebhooksSection } from './webhooks/WebhooksSection.tsx';

export interface SectionProps {
  readonly settings: Settings;
}

interface SettingsSection {
  /** In the path: /settings/model. */
  readonly id: string;
  readonly title: (texts: SettingsTexts) => string;
  readonly Component: ComponentType<SectionProps>;
}

export const sections: readonly SettingsSection[] = [
  { id: 'model', title: ({ model }) => model.title, Component: ModelSection },
  { id: 'agent', title: ({ agent }) => agent.title, Component: AgentSection },
  { id: 'general', title: ({ general }) => general.title, Component: GeneralSection },
  { id: 'git', title: ({ git }) => git.title, Component: GitSection },
  { id: 'tools', title: ({ tools }) => tools.title, Component: ToolsSection },
  { id: 'secrets', title: ({ secrets }) => secrets.title, Component: SecretsSection },
  { id: 'keys', title: ({ keys }) => keys.title, Component: KeysSection },
  { id: 'webhooks', title: ({ webhooks }) => webhooks.title, Component: WebhooksSection },
  { id: 'about', title: ({ about }) => about.title, Component: AboutSection },
];
