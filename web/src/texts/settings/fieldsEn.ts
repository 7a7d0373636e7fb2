// The settings as form fields: label, hint, and the default that applies when nothing is set.
import type { SettingsChange } from '../../../../src/client/parley.ts';

interface FieldTexts {
  readonly label: string;
  readonly hint: string;
  /** The default; undefined if there is none to show. */
  readonly default?: string;
}

/** MCP servers have a form of their own. */
export type SettingName = Exclude<keyof SettingsChange, 'mcp_config'>;
export type AllFieldTexts = Readonly<Record<SettingName, FieldTexts>>;

export const fieldsEn: AllFieldTexts = {
  llm_model: {
    label: 'Model',
    hint: 'Provider and model, such as anthropic/claude-sonnet-4-5. You can enter models that are not in the list.',
    default: 'none. Agents need a model to work',
  },
  llm_api_key: { label: 'API key', hint: 'It never enters an agent’s sandbox.' },
  llm_base_url: {
    label: 'Base URL',
    hint: 'Only for your own server with an OpenAI-compatible chat completions API.',
    default: 'the URL of the provider',
  },
  max_iterations: {
    label: 'Max iterations',
    hint: 'The agent stops after this many model requests per message. 1 to 100,000.',
    default: 'no limit',
  },
  max_budget_per_task: {
    label: 'Max cost per conversation (USD)',
    hint: 'The conversation stops when its model requests have cost this much.',
    default: 'no limit',
  },
  enable_default_condenser: {
    label: 'Condense long conversations',
    hint: 'Replaces the oldest messages with a summary when the conversation becomes too long for the model.',
    default: 'on',
  },
  agent: {
    label: 'Agent',
    hint: 'Agents other than the built-in one must be installed where Parley runs.',
    default: 'the built-in agent',
  },
  confirmation_mode: {
    label: 'Require approval',
    hint: 'Commands, file edits and tool calls wait for your approval.',
    default: 'off',
  },
  security_analyzer: {
    label: 'Actions that need approval',
    hint: 'Applies only if approval is required.',
    default: 'every action',
  },
  sandbox_runtime_container_image: {
    label: 'Container image',
    hint: 'Only for Docker sandboxes. The operator must allow the image.',
    default: 'the image that the operator chose',
  },
  remote_runtime_resource_factor: {
    label: 'Resource factor',
    hint: 'Multiplies the memory and process limits of an agent. 1 to 16.',
    default: '1',
  },
  language: {
    label: 'Language',
    hint: 'The language of agents’ answers, and of this web UI, which is available in English and German.',
    default: 'English',
  },
  enable_sound_notifications: {
    label: 'Sound notifications',
    hint: 'Plays a sound when an agent finishes or waits for input.',
    default: 'off',
  },
  email: { label: 'Email', hint: 'Your email address.', default: 'none' },
  enable_proactive_conversation_starters: {
    label: 'Suggest conversations',
    hint: 'Lets clients suggest tasks that they have found.',
    default: 'on',
  },
  enable_solvability_analysis: {
    label: 'Solvability analysis',
    hint: 'Lets clients analyze whether an issue can be solved.',
    default: 'on',
  },
  user_consents_to_analytics: {
    label: 'Consent to analytics',
    hint: 'Parley itself never collects analytics.',
    default: 'not answered',
  },
  sandbox_base_container_image: {
    label: 'Base container image',
    hint: 'The image from which other clients build a sandbox.',
    default: 'none',
  },
  sandbox_api_key: { label: 'Sandbox API key', hint: 'For hosted sandboxes.' },
  git_user_name: {
    label: 'Git user name',
    hint: 'The author of commits that agents create.',
    default: 'parley',
  },
  git_user_email: {
    label: 'Git user email',
    hint: 'The email address of the commit author.',
    default: 'parley@localhost',
  },
  search_api_key: { label: 'Tavily API key', hint: 'Lets agents search the web.' },
};
