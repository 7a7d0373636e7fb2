// Writes the file store of a V0 server in its real format, for tests of the import.
import { createHash } from 'node:crypto';
import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

export function writeJson(file: string, value: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
}

/** V0 writes local times without a zone. */
const at = (second: number) => `2025-08-01T10:00:${String(second % 60).padStart(2, '0')}.123456`;

export function v0Metadata(id: string, more: object = {}) {
  return {
    conversation_id: id,
    selected_repository: 'acme/shop',
    user_id: null,
    selected_branch: 'main',
    git_provider: 'github',
    title: `Title of ${id}`,
    last_updated_at: '2025-08-01T11:00:00.500000Z',
    trigger: 'gui',
    pr_number: [],
    created_at: '2025-08-01T10:00:00.250000Z',
    llm_model: 'anthropic/claude-sonnet-4-20250514',
    accumulated_cost: 0.25,
    prompt_tokens: 1200,
    completion_tokens: 340,
    total_tokens: 1540,
    ...more,
  };
}

export function v0Message(id: number, content: string) {
  return {
    id,
    timestamp: at(id),
    source: 'user',
    message: content,
    action: 'message',
    args: { content, file_urls: [], image_urls: [], wait_for_response: false },
  };
}

/** A short conversation: the events of one tool call, and some that Parley does not know. */
export function v0Events(task: string): object[] {
  const call = { function_name: 'execute_bash', tool_call_id: 'toolu_01', total_calls_in_response: 1 };
  return [
    {
      id: 0,
      timestamp: at(0),
      source: 'agent',
      message: '',
      action: 'system',
      args: {
        content: 'You are OpenHands',
        tools: null,
        openhands_version: '0.53.0',
        agent_class: 'CodeActAgent',
      },
    },
    v0Message(1, task),
    {
      id: 2,
      timestamp: at(2),
      source: 'user',
      message: 'Retrieving content',
      action: 'recall',
      args: { recall_type: 'workspace_context', query: task, thought: '' },
    },
    {
      id: 3,
      timestamp: at(3),
      source: 'agent',
      message: 'Running command: ls',
      action: 'run',
      tool_call_metadata: { ...call, model_response: { id: 'chatcmpl-1', choices: [] } },
      llm_metrics: { accumulated_cost: 0.25, accumulated_token_usage: { cache_read_tokens: 7 } },
      args: {
        command: 'ls',
        is_input: false,
        thought: 'Look',
        blocking: false,
        confirmation_state: 'confirmed',
      },
    },
    {
      id: 4,
      timestamp: at(4),
      source: 'agent',
      message: 'Command `ls` executed with exit code 0.',
      cause: 3,
      observation: 'run',
      tool_call_metadata: call,
      content: 'a.txt',
      extras: { command: 'ls', metadata: { exit_code: 0, pid: 12 }, hidden: false },
      success: true,
    },
    {
      id: 5,
      timestamp: at(5),
      source: 'environment',
      message: '',
      observation: 'agent_state_changed',
      content: '',
      extras: { agent_state: 'awaiting_user_input', reason: '' },
    },
  ];
}

interface V0Conversation {
  readonly metadata?: unknown;
  readonly events?: readonly unknown[];
}

/** `folder` is that of the conversation, such as `sessions/ID`. */
export function writeV0Conversation(folder: string, id: string, conversation: V0Conversation = {}): void {
  const { metadata = v0Metadata(id), events = v0Events(`Task of ${id}`) } = conversation;
  if (metadata !== null) writeJson(join(folder, 'metadata.json'), metadata);
  mkdirSync(join(folder, 'events'), { recursive: true });
  for (const [i, event] of events.entries()) writeJson(join(folder, `events/${i}.json`), event);
}

export function v0Settings(secret: (name: string) => string) {
  return {
    language: 'de',
    agent: 'CodeActAgent',
    max_iterations: 77,
    security_analyzer: null,
    confirmation_mode: false,
    llm_model: 'anthropic/claude-sonnet-4-20250514',
    llm_api_key: secret('model'),
    llm_base_url: '',
    remote_runtime_resource_factor: 1,
    secrets_store: { provider_tokens: {} },
    enable_default_condenser: true,
    enable_sound_notifications: true,
    enable_proactive_conversation_starters: false,
    user_consents_to_analytics: false,
    sandbox_base_container_image: null,
    mcp_config: {
      sse_servers: [{ url: 'https://sse.example/mcp', api_key: secret('sse') }],
      stdio_servers: [
        { name: 'fetch', command: 'uvx', args: ['mcp-server-fetch'], env: { TOKEN: secret('env') } },
      ],
      shttp_servers: [{ url: 'https://shttp.example/mcp', api_key: null }],
    },
    search_api_key: secret('search'),
    sandbox_api_key: null,
    max_budget_per_task: null,
    email: null,
    email_verified: null,
    git_user_name: 'openhands',
    git_user_email: 'openhands@all-hands.dev',
    condenser_max_size: 120,
  };
}

export function v0Secrets(secret: (name: string) => string) {
  return {
    provider_tokens: {
      github: { token: secret('github'), host: null, user_id: 'me' },
      gitlab: { token: secret('gitlab'), host: 'git.example.com', user_id: null },
    },
    custom_secrets: { DEPLOY: { secret: secret('custom'), description: 'for deploys' } },
  };
}

const hashedBytesMax = 1_048_576;

function contentOf(path: string, stats: Stats): string {
  if (stats.isSymbolicLink()) return readlinkSync(path);
  if (!stats.isFile()) return '';
  const file = openSync(path, 'r');
  const bytes = Buffer.alloc(Math.min(stats.size, hashedBytesMax));
  readSync(file, bytes);
  closeSync(file);
  return createHash('sha256').update(bytes).digest('hex');
}

/** Every name, kind, mode, size, time of change and content below a folder, as one text. Links are not followed. */
export function fingerprintFolder(folder: string): string {
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const path = join(folder, name);
      const stats = lstatSync(path);
      const below = stats.isDirectory() ? `\n${fingerprintFolder(path)}` : contentOf(path, stats);
      return `${name} ${stats.mode} ${stats.size} ${stats.mtimeMs} ${below}`;
    })
    .join('\n');
}
