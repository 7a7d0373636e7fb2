// What a client can choose for a session: the agent, the model, and whether actions need approval.
import {
  RequestError,
  type SessionConfigOption,
  type SessionConfigSelectOption,
  type SessionModeState,
} from '@agentclientprotocol/sdk';
import {
  type ChangeConversation,
  type ConversationInfo,
  type Parley,
  ParleyError,
} from '../client/parley.ts';

/** Stands for the choice in the settings, because ACP has no empty value. */
const fromSettings = 'settings';
/** More suggestions would only fill the menu of an editor. */
const modelsMax = 200;

const approvalModes = {
  ask: { name: 'Ask', description: 'The agent asks before it runs commands or changes files.' },
  auto: { name: 'Auto', description: 'The agent acts without asking.' },
};

type ConfigId = 'agent' | 'model' | 'mode';

interface Choices {
  readonly agents: readonly { readonly name: string; readonly label: string }[];
  readonly models: readonly string[];
  readonly settings: { readonly agent: string; readonly model: string; readonly asks: boolean };
}

/** Undefined if the key of the client does not have the scope for it. */
async function ifAllowed<Out>(request: Promise<Out>): Promise<Out | undefined> {
  return request.catch((error) => {
    if (error instanceof ParleyError && error.status === 403) return undefined;
    throw error;
  });
}

async function readChoices(parley: Parley): Promise<Choices> {
  const [agents, models, settings] = await Promise.all([
    ifAllowed(parley.agents.list()),
    ifAllowed(parley.options.models()),
    ifAllowed(parley.settings.get()),
  ]);
  return {
    agents: (agents?.agents ?? [])
      .filter(({ installed }) => installed !== false)
      .map(({ id, name }) => ({ name: id, label: name })),
    models: (models ?? []).slice(0, modelsMax),
    settings: {
      agent: settings?.agent ?? '',
      model: settings?.llm_model ?? '',
      asks: settings?.confirmation_mode === true,
    },
  };
}

function select(
  option: Pick<SessionConfigOption, 'id' | 'name' | 'category'>,
  options: SessionConfigSelectOption[],
  chosen: string | null | undefined,
): SessionConfigOption {
  const currentValue = chosen ?? fromSettings;
  const known = options.some(({ value }) => value === currentValue);
  const all = known ? options : [...options, { value: currentValue, name: currentValue }];
  return { ...option, type: 'select', currentValue, options: all };
}

function settingsOption(value: string): SessionConfigSelectOption {
  return { value: fromSettings, name: value === '' ? 'Default' : `Default (${value})` };
}

/** The options with their current values. */
export async function readConfigOptions(
  parley: Parley,
  info: ConversationInfo,
): Promise<SessionConfigOption[]> {
  const { agents, models, settings } = await readChoices(parley);
  const asks = info.confirmation_mode ?? settings.asks;
  const modes = Object.entries(approvalModes).map(([value, mode]) => ({ value, ...mode }));
  return [
    select({ id: 'mode', name: 'Approval', category: 'mode' }, modes, asks ? 'ask' : 'auto'),
    select(
      { id: 'model', name: 'Model', category: 'model' },
      [settingsOption(settings.model), ...models.map((name) => ({ value: name, name }))],
      info.llm_model,
    ),
    select(
      { id: 'agent', name: 'Agent', category: 'other' },
      [settingsOption(settings.agent), ...agents.map(({ name, label }) => ({ value: name, name: label }))],
      info.agent,
    ),
  ];
}

/** The approval modes for clients that do not know config options. */
export function toModes(options: readonly SessionConfigOption[]): SessionModeState {
  const mode = options.find(({ id }) => id === 'mode');
  return {
    currentModeId: String(mode?.currentValue),
    availableModes: Object.entries(approvalModes).map(([id, texts]) => ({ id, ...texts })),
  };
}

const changes: Readonly<Record<ConfigId, (value: string) => ChangeConversation>> = {
  agent: (value) => ({ agent: value === fromSettings ? null : value }),
  model: (value) => ({ llm_model: value === fromSettings ? null : value }),
  mode: (value) => {
    if (!Object.hasOwn(approvalModes, value))
      throw RequestError.invalidParams(
        { path: 'value' },
        `value must be one of ${Object.keys(approvalModes).join(', ')}`,
      );
    return { confirmation_mode: value === 'ask' };
  },
};

/** The change of a conversation that sets the option. */
export function toChange(configId: string, value: unknown): ChangeConversation {
  if (!Object.hasOwn(changes, configId))
    throw RequestError.invalidParams(
      { path: 'configId' },
      `configId must be one of ${Object.keys(changes).join(', ')}`,
    );
  if (typeof value !== 'string')
    throw RequestError.invalidParams({ path: 'value' }, 'value must be a string');
  return changes[configId as ConfigId](value);
}
