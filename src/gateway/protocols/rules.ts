// What a request must not do with the user's key: reach what the user keeps at the provider, or cost what the meter
// does not see. Each protocol has a table of it.
import { Refusal } from '../refusal.ts';
import { isObject, type Json } from './protocol.ts';

export interface RequestRules {
  /** Members that are left out: what the request means stays the same. */
  readonly dropped: readonly string[];
  /** Members that change what it means, and are refused wherever they stand. */
  readonly refused: readonly string[];
  /** Members that hold messages, their parts or tools: these are looked through. */
  readonly within: readonly string[];
  /** What of a tool the agent itself runs; undefined: it runs at the provider, and is not offered. */
  keepTool(tool: Json): Json | undefined;
  /** Members that choose among the tools. */
  readonly choices: readonly string[];
}

/** Those of who stands between: other models than the user's, and tools that run there. */
export const droppedEverywhere = ['models', 'fallbacks', 'route', 'plugins', 'service_tier'];

/** Keeps tools whose type is one of an agent's own. Without a type it is one in every API. */
export function keepTypes(types: RegExp): RequestRules['keepTool'] {
  return (tool) => {
    const { type } = tool;
    return type == null || (typeof type === 'string' && types.test(type)) ? tool : undefined;
  };
}

const isSaid = (value: unknown) => value != null && !(Array.isArray(value) && value.length === 0);

/** Throws Refusal. Without recursion: an agent may nest as deep as it likes. */
function check(body: Json, { refused, within }: RequestRules): void {
  const unseen: unknown[] = [body];
  while (unseen.length > 0) {
    const part = unseen.pop();
    if (Array.isArray(part)) for (const one of part) unseen.push(one);
    if (!isObject(part)) continue;
    const member = refused.find((name) => isSaid(part[name]));
    if (member !== undefined)
      throw new Refusal(
        `The gateway does not pass ${member} on: of its provider, a run reaches nothing but the model.`,
        { status: 400 },
      );
    for (const name of within) if (name in part) unseen.push(part[name]);
  }
}

function without(body: Json, names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

/** Whether a choice names one of the tools. */
function isChosen(choice: unknown, tools: readonly unknown[]): boolean {
  if (!isObject(choice)) return false;
  const names = tools.filter(isObject).flatMap(({ type, name }) => [type, name]);
  return [choice['type'], choice['name']].some((name) => name !== undefined && names.includes(name));
}

function keepTools(body: Json, { keepTool, choices }: RequestRules): Json {
  const { tools } = body;
  if (!Array.isArray(tools)) return body;
  const keep = (tool: unknown) => (isObject(tool) ? keepTool(tool) : tool);
  const gone = tools.filter((tool) => keep(tool) === undefined);
  const kept = tools.map(keep).filter((tool) => tool !== undefined);
  // Most providers take neither an empty list nor a choice of what is not in it.
  if (kept.length === 0) return without(body, gone.length === 0 ? [] : ['tools', ...choices]);
  return {
    ...without(
      body,
      choices.filter((name) => isChosen(body[name], gone)),
    ),
    tools: kept,
  };
}

/** The request without what it must not have. Throws Refusal, 400, where it would mean something else. */
export function applyRules(body: Json, rules: RequestRules): Json {
  check(body, rules);
  return keepTools(without(body, rules.dropped), rules);
}
