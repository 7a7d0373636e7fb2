// What a request must not do with the user's API key: reach data that the user keeps at the provider, or cause costs
// that the meter does not see. Each protocol has a table.

import { isObject, type JsonObject } from '../../text/foreignText.ts';
import { Refusal } from '../refusal.ts';

export interface RequestRules {
  /** Fields that are removed. The meaning of the request stays the same. */
  readonly dropped: readonly string[];
  /** Fields that change the meaning. A request that contains one anywhere is refused. */
  readonly refused: readonly string[];
  /** Fields that contain messages, their parts or tools, which are searched as well. */
  readonly within: readonly string[];
  /**
   * Returns the part of a tool that the agent itself runs; undefined if it runs at the provider and must not be
   * offered.
   */
  keepTool(tool: JsonObject): JsonObject | undefined;
  /** Fields that choose a tool. */
  readonly choices: readonly string[];
}

/** Fields of routers between us and the provider: other models, and tools that run there. */
export const droppedEverywhere = ['models', 'fallbacks', 'route', 'plugins', 'service_tier'];

/** Keeps tools of the agent itself. In every API, a tool without a type is one. */
export function keepTypes(types: RegExp): RequestRules['keepTool'] {
  return (tool) => {
    const { type } = tool;
    return type == null || (typeof type === 'string' && types.test(type)) ? tool : undefined;
  };
}

const isPresent = (value: unknown) => value != null && !(Array.isArray(value) && value.length === 0);

/** A loop without a callback, because it sees every message of every request. */
function presentField(part: JsonObject, names: readonly string[]): string | undefined {
  for (const name of names) if (isPresent(part[name])) return name;
  return undefined;
}

/** Throws Refusal. It is not recursive, because an agent may nest as deep as it likes. */
function check(body: JsonObject, { refused, within }: RequestRules): void {
  const unseen: unknown[] = [body];
  while (unseen.length > 0) {
    const part = unseen.pop();
    if (Array.isArray(part)) for (const one of part) if (typeof one === 'object') unseen.push(one);
    if (!isObject(part)) continue;
    const field = presentField(part, refused);
    if (field !== undefined)
      throw new Refusal(
        `The gateway does not pass ${field} on: of its provider, a run reaches nothing but the model.`,
        { status: 400 },
      );
    for (const name of within) {
      const inner = part[name];
      if (typeof inner === 'object') unseen.push(inner);
    }
  }
}

function without(body: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

/** Whether a choice names one of the tools. */
function isChosen(choice: unknown, tools: readonly unknown[]): boolean {
  if (!isObject(choice)) return false;
  const names = tools.filter(isObject).flatMap(({ type, name }) => [type, name]);
  return [choice['type'], choice['name']].some((name) => name !== undefined && names.includes(name));
}

function keepTools(body: JsonObject, { keepTool, choices }: RequestRules): JsonObject {
  const { tools } = body;
  if (!Array.isArray(tools)) return body;
  const keep = (tool: unknown) => (isObject(tool) ? keepTool(tool) : tool);
  const gone = tools.filter((tool) => keep(tool) === undefined);
  const kept = tools.map(keep).filter((tool) => tool !== undefined);
  // Most providers reject an empty list, and a choice of a tool that is not in it.
  if (kept.length === 0) return without(body, gone.length === 0 ? [] : ['tools', ...choices]);
  return {
    ...without(
      body,
      choices.filter((name) => isChosen(body[name], gone)),
    ),
    tools: kept,
  };
}

/** Returns the request without forbidden fields. Throws Refusal, 400, if that would change its meaning. */
export function applyRules(body: JsonObject, rules: RequestRules): JsonObject {
  check(body, rules);
  return keepTools(without(body, rules.dropped), rules);
}
