// The commands that a user of the agent can type, such as /review. The agent announces them when it starts.
import type { AvailableCommand, SessionUpdate } from '@agentclientprotocol/sdk';
import type { ParleyEvent } from '../client/parley.ts';
import { isObject } from '../text/foreignText.ts';

function toCommand({ name, description, input }: Readonly<Record<string, unknown>>): AvailableCommand[] {
  if (typeof name !== 'string' || name === '' || typeof description !== 'string') return [];
  const hint = isObject(input) ? input['hint'] : undefined;
  return [{ name, description, ...(typeof hint === 'string' ? { input: { hint } } : {}) }];
}

/** None if the event does not announce commands. */
export function commandUpdates(event: ParleyEvent): SessionUpdate[] {
  const update = event.type === 'observation.agent_update' ? event.extras.update : undefined;
  if (!isObject(update) || update['sessionUpdate'] !== 'available_commands_update') return [];
  const commands = update['availableCommands'];
  if (!Array.isArray(commands)) return [];
  const availableCommands = commands.filter(isObject).flatMap(toCommand);
  return [{ sessionUpdate: 'available_commands_update', availableCommands }];
}
