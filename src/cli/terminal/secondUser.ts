// What changes with the second user, for the commands that create one.

export const secondUserNote =
  'Parley now has a second user. It no longer connects to private addresses that users name: local models (ollama/…, a private llm_base_url), webhooks and MCP servers. To allow some, start it with PARLEY_ALLOW_PRIVATE_ADDRESSES, such as 127.0.0.1:11434.\n';
