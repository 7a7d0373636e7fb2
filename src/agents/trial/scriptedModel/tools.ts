// Selects a tool of the agent that writes a file, runs a command or starts a sub-agent, and builds its input.

export interface Tool {
  readonly name: string;
  /** JSON schema of its input. */
  readonly schema: unknown;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
}

type Input = Record<string, unknown>;

/** The likeliest names come first. */
const writers = [/^write(_?file)?$/i, /^create(_?file)?$/i];
const editors = [/^edit(_?file)?$/i, /^(str_?)?replace$/i, /^search_?replace$/i];
const runners = [/^(bash|shell|sh|terminal)$/i, /^(run|exec|execute|shell)_?(shell_?)?(command)?$/i];

const delegates = [/^(task|agent|search_?agent|sub_?agent|explore)$/i];

const pathNames = /^(file_?path|absolute_?path|path|file_?name|file)$/i;
const textNames = /^(contents?|text|file_?text)$/i;
const oldNames = /^old(_?(string|str|text))?$/i;
const newNames = /^new(_?(string|str|text))?$/i;
const taskNames = /^(task|prompt)$/i;
const commandNames = /^(command|cmd|script)$/i;

/** Gemini writes the names of types in capitals. */
function typeOf({ type }: Schema): string {
  return String([type].flat()[0] ?? '').toLowerCase();
}

function anyValue(schema: Schema): unknown {
  if (schema.enum !== undefined) return schema.enum[0];
  const values: Readonly<Record<string, unknown>> = {
    boolean: false,
    integer: schema.minimum ?? 1,
    number: schema.minimum ?? 1,
    array: [],
    object: {},
  };
  return values[typeOf(schema)] ?? 'scripted';
}

function inputOf({ schema }: Tool): Schema {
  return typeof schema === 'object' && schema !== null ? schema : {};
}

/** Assigns each value of `wanted` to a field with a matching name. Returns undefined if one has no such field. */
function fillInput(tool: Tool, wanted: readonly (readonly [RegExp, string])[]): Input | undefined {
  const { properties = {}, required = [] } = inputOf(tool);
  const input: Input = {};
  for (const name of required) input[name] = anyValue(properties[name] ?? {});
  for (const [pattern, value] of wanted) {
    const name = Object.keys(properties).find((candidate) => pattern.test(candidate));
    if (name === undefined) return undefined;
    const isList = typeOf(properties[name] ?? {}) === 'array';
    input[name] = isList ? ['sh', '-c', value] : value;
  }
  return input;
}

function firstFilled(
  tools: readonly Tool[],
  names: readonly RegExp[],
  wanted: readonly (readonly [RegExp, string])[],
): { name: string; input: Input } | undefined {
  for (const pattern of names)
    for (const tool of tools.filter(({ name }) => pattern.test(name))) {
      const input = fillInput(tool, wanted);
      if (input !== undefined) return { name: tool.name, input };
    }
  return undefined;
}

const plain = (name: string) => name.toLowerCase().replace(/[^a-z0-9]+/g, '_');

/**
 * Agents put the name of an MCP server before the name of its tool in different ways: `mcp__server__tool`,
 * `server_tool`.
 */
export function findByEnd(tools: readonly Tool[], end: string): Tool | undefined {
  return (
    tools.find(({ name }) => name === end) ??
    tools.find(({ name }) => `_${plain(name)}`.endsWith(`_${plain(end)}`))
  );
}

export function fillWrite(tools: readonly Tool[], { path, text }: { path: string; text: string }) {
  return firstFilled(tools, writers, [
    [pathNames, path],
    [textNames, text],
  ]);
}

export function fillEdit(
  tools: readonly Tool[],
  { path, from, to }: { path: string; from: string; to: string },
) {
  return firstFilled(tools, editors, [
    [pathNames, path],
    [oldNames, from],
    [newNames, to],
  ]);
}

export function fillDelegate(tools: readonly Tool[], task: string) {
  return firstFilled(tools, delegates, [[taskNames, task]]);
}

export function fillRun(tools: readonly Tool[], command: string) {
  return firstFilled(tools, runners, [[commandNames, command]]);
}
