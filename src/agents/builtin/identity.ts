// The name of the agent for ACP clients and MCP servers.
export const identity = {
  name: 'parley-agent',
  title: 'The built-in agent of Parley',
  version: '1.0.0',
} as const;
