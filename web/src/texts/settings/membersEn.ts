// Each member of the settings record as a field: its label, a hint, and what holds where nothing is set.
import type { SettingsChange } from '../../../../src/client/parley.ts';

interface MemberTexts {
  readonly label: string;
  readonly hint: string;
  /** Undefined where there is none to tell. */
  readonly usual?: string;
}

/** Tool servers have a form of their own. */
export type FieldMember = Exclude<keyof SettingsChange, 'mcp_config'>;
export type AllMemberTexts = Readonly<Record<FieldMember, MemberTexts>>;

export const membersEn: AllMemberTexts = {
  llm_model: {
    label: 'Model',
    hint: 'The provider first, such as anthropic/claude-sonnet-4-5. Others than those offered work, too.',
    usual: 'none, and agents cannot work without one',
  },
  llm_api_key: { label: 'Key of the model', hint: 'It never enters the sandbox of an agent.' },
  llm_base_url: {
    label: 'Address',
    hint: 'Only for a server of your own that speaks OpenAI chat completions.',
    usual: 'that of the provider',
  },
  max_iterations: {
    label: 'Model requests for a message',
    hint: 'After so many the agent stops and waits for you. 1 to 100,000.',
    usual: 'no limit',
  },
  max_budget_per_task: {
    label: 'Budget of a conversation, in US dollars',
    hint: 'What the model may cost in all; then it stops.',
    usual: 'no limit',
  },
  enable_default_condenser: {
    label: 'Condense long conversations',
    hint: 'The oldest messages give way to notes, where a history is too long for its model.',
    usual: 'on',
  },
  agent: {
    label: 'Agent',
    hint: 'Agents other than the built-in one must be installed where Parley runs.',
    usual: 'the built-in agent',
  },
  confirmation_mode: {
    label: 'Ask before the agent acts',
    hint: 'Commands, changes of files and tools wait for your answer.',
    usual: 'off',
  },
  security_analyzer: {
    label: 'What to ask for',
    hint: 'Which steps need your answer, where the agent asks.',
    usual: 'every step',
  },
  sandbox_runtime_container_image: {
    label: 'Image',
    hint: 'For sandboxes of Docker, and only one that the operator allows.',
    usual: 'that of the operator',
  },
  remote_runtime_resource_factor: {
    label: 'Resource factor',
    hint: 'Multiplies the memory and the processes that an agent may take. 1 to 16.',
    usual: '1',
  },
  language: {
    label: 'Language',
    hint: 'Of the page, which speaks English and German, and of the answers of agents.',
    usual: 'English',
  },
  enable_sound_notifications: {
    label: 'Sounds',
    hint: 'A sound when an agent has finished, or waits for you.',
    usual: 'off',
  },
  email: { label: 'E-mail', hint: 'Your own address.', usual: 'none' },
  enable_proactive_conversation_starters: {
    label: 'Suggest conversations',
    hint: 'Whether clients offer tasks that they have found.',
    usual: 'on',
  },
  enable_solvability_analysis: {
    label: 'Judge whether issues can be solved',
    hint: 'Whether clients look into an issue before they begin.',
    usual: 'on',
  },
  user_consents_to_analytics: {
    label: 'Consent to analytics',
    hint: 'Parley itself collects nothing, whatever you answer.',
    usual: 'not answered',
  },
  sandbox_base_container_image: {
    label: 'Base image',
    hint: 'From which other clients build the image of a sandbox.',
    usual: 'none',
  },
  sandbox_api_key: { label: 'Key of the sandbox', hint: 'For sandboxes that others run.' },
  git_user_name: { label: 'Name of the author', hint: 'On the commits that agents make.', usual: 'parley' },
  git_user_email: {
    label: 'E-mail of the author',
    hint: 'On the commits that agents make.',
    usual: 'parley@localhost',
  },
  search_api_key: { label: 'Key of Tavily', hint: 'With it, agents can search the web.' },
};
