// The sections of the settings, in their order. A new one: its component, an entry here, its texts in both catalogues.
import type { ComponentType } from 'react';
import type { Settings } from '../../../src/client/parley.ts';
import type { Texts } from '../texts/en.ts';
import { ModelSection } from './ModelSection.tsx';

export interface SectionProps {
  readonly settings: Settings;
}

interface SettingsSection {
  /** In the path: /settings/model. */
  readonly id: string;
  readonly title: (texts: Texts['settings']) => string;
  readonly Component: ComponentType<SectionProps>;
}

export const sections: readonly SettingsSection[] = [
  { id: 'model', title: ({ model }) => model.title, Component: ModelSection },
];
