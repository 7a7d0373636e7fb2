// By what name the agent goes, with those who start it and with tool servers.
export const identity = {
  name: 'parley-agent',
  title: 'The built-in agent of Parley',
  version: '1.0.0',
} as const;
