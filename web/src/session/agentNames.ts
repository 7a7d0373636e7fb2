// Names of agents in select fields, which use the empty value for the built-in agent.

const builtin = 'builtin';
/** Older clients store the other names. */
const builtinNames: ReadonlySet<string> = new Set(['', 'CodeActAgent', builtin]);

export function isBuiltin(name: string | null): boolean {
  return builtinNames.has(name ?? '');
}

/** The value of the select field. */
export function agentValue(name: string | null): string {
  return name === null || isBuiltin(name) ? '' : name;
}

/** The name that the service knows. */
export function agentName(value: string): string {
  return value === '' ? builtin : value;
}
