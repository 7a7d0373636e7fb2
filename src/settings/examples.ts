// Examples for the API reference. They pass the schemas; a test holds them to it.

import { toFullSettings, toReducedSettings } from './record.ts';
import type { SettingsChange } from './schema.ts';

export const fullSettingsExample = toFullSettings({
  version: 3,
  document: JSON.stringify({
    language: 'en',
    agent: 'CodeActAgent',
    max_iterations: 100,
    llm_model: 'anthropic/claude-sonnet-4-5',
    git_user_name: 'Ada',
    git_user_email: 'ada@example.com',
  }),
  secrets: [
    { kind: 'llm_api_key', name: '', host: null, description: null },
    { kind: 'provider_token', name: 'github', host: null, description: null },
    { kind: 'custom', name: 'DEPLOY_TOKEN', host: null, description: 'Deploys the staging site' },
  ],
  operator: null,
});

export const reducedSettingsExample = toReducedSettings(fullSettingsExample);

export const writeExample: SettingsChange = {
  llm_model: 'anthropic/claude-sonnet-4-5',
  llm_api_key: 'a-model-key',
  max_budget_per_task: 2.5,
};
