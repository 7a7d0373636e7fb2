// Web search for every agent: an additional MCP server if the user has stored an API key for it.
import { listRemotes } from './remotes.ts';
import type { McpConfig } from './schema.ts';

/** Tavily's server. Clients of this API store its API key as `search_api_key`. */
export const defaultSearchUrl = 'https://mcp.tavily.com/mcp/';

const hostOf = (url: string) => URL.parse(url)?.host;

/** Returns the configuration unchanged if there is no API key, or if the user has a server at that host already. */
export function withSearch(config: McpConfig, url: string, key: string | undefined): McpConfig {
  if (key === undefined || key === '') return config;
  if (listRemotes(config).some(({ server }) => hostOf(server.url) === hostOf(url))) return config;
  return { ...config, shttp_servers: [...config.shttp_servers, { url, api_key: key }] };
}
