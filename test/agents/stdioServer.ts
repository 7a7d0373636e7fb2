// A tool server that an agent starts itself. It is a script of the shell, for nothing else is in every sandbox, and so
// small that it is an argument. Its tool answers with the key from its environment, which the log must not show.

export const stdioTool = 'spell';
export const stdioAnswer = 'spelt with ';

const results = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'words', version: '1' },
  },
  'tools/list': { tools: [{ name: stdioTool, inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: `${stdioAnswer}KEY` }] },
};

/** Messages are a line each; only requests have an id, and the last one in the line is theirs in all that was seen. */
const script = `
while IFS= read -r line; do
  id=$(printf %s "$line" | sed -nE 's/.*"id": ?("[^"]*"|[0-9]+).*/\\1/p')
  outcome='"error":{"code":-32601,"message":"no such method"}'
  case $line in
${Object.entries(results)
  .map(([method, result]) => `    *'"${method}"'*) outcome='"result":${JSON.stringify(result)}' ;;`)
  .join('\n')}
  esac
  [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,%s}\\n' "$id" "$outcome" | sed "s/KEY/$SPELLING_KEY/"
done
`;

/** As it stands in `mcp_config`. */
export function stdioServer(key: string) {
  return { name: 'words', command: 'sh', args: ['-c', script], env: { SPELLING_KEY: key } };
}
