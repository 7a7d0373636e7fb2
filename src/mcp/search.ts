// Web search for every agent: one tool server more, where the user has stored a key for it.
import { listRemotes } from './remotes.ts';
import type { McpConfig } from './schema.ts';

/** Of Tavily, whose keys clients of this API store as `search_api_key`. */
export const usualSearchUrl = 'https://mcp.tavily.com/mcp/';

const hostOf = (url: string) => URL.parse(url)?.host;

/** As it is where there is no key, or where the user's own servers have one at that host. */
export function withSearch(config: McpConfig, url: string, key: string | undefined): McpConfig {
  if (key === undefined || key === '') return config;
  if (listRemotes(config).some(({ server }) => hostOf(server.url) === hostOf(url))) return config;
  return { ...config, shttp_servers: [...config.shttp_servers, { url, api_key: key }] };
}
