// The version of each agent that was seen to work, of the package that its profile names; docs/agents.md tells the same.
export const versions: Readonly<Record<string, string>> = {
  opencode: '1.18.33',
  claude: '0.99.0',
  codex: '0.16.0',
  gemini: '0.61.0',
  qwen: '0.24.4',
};
