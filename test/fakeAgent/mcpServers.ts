// Lines that make the fake agent speak to the tool servers that it was given.
import type { McpServer } from '@agentclientprotocol/sdk';
import type { Command } from './script.ts';
import { output, use } from './tools.ts';

type Remote = Extract<McpServer, { type: 'http' | 'sse' }>;

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

/** The data of each event of a stream. */
async function* readEvents({ body }: Response): AsyncGenerator<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const piece of body as ReadableStream<Uint8Array>) {
    text += decoder.decode(piece, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      yield /^data: (.*)$/m.exec(text.slice(0, end))?.[1] ?? '';
      text = text.slice(end + 2);
    }
  }
}

async function ask({ type, url, headers }: Remote, request: object): Promise<string> {
  const own = Object.fromEntries(headers.map(({ name, value }) => [name, value]));
  const post = (to: string) =>
    fetch(to, {
      method: 'POST',
      headers: { ...own, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify(request),
    });
  if (type === 'http') {
    const answer = await post(url);
    return `${answer.status} ${await answer.text()}`;
  }
  const stream = await fetch(url, { headers: { ...own, accept: 'text/event-stream' } });
  if (!stream.ok) return `${stream.status} ${await stream.text()}`;
  const events = readEvents(stream);
  const place = (await events.next()).value;
  const sent = await post(new URL(place ?? '', url).href);
  const { value } = await events.next();
  await events.return(undefined);
  return `${sent.status} ${value}`;
}

export const mcpServers = {
  /** `mcp-tools name`: asks the server of that name for its tools, and says what it answers. */
  'mcp-tools': async ({ say, session }, rest) => {
    const server = session.mcpServers.find(({ name }) => name === rest);
    await say(
      server !== undefined && 'type' in server ? await ask(server as Remote, list) : 'no such server',
    );
  },

  /** `mcp-call server tool {"a":1}`: calls a tool of the server of that name. */
  'mcp-call': (script, rest) => {
    const [, from = '', name = '', json = '{}'] = /^(\S+) (\S+) ?(.*)$/.exec(rest) ?? [];
    const input = JSON.parse(json) as object;
    const request = { ...list, method: 'tools/call', params: { name, arguments: input } };
    const server = script.session.mcpServers.find((one) => one.name === from);
    return use(script, { title: `mcp__${from}__${name}`, kind: 'other', rawInput: input }, async () => {
      const text = server === undefined ? 'no such server' : await ask(server as Remote, request);
      return { content: output(text) };
    });
  },

  /** `mcp-env name`: says the variables of a server that it would start. */
  'mcp-env': ({ say, session }, rest) => {
    const server = session.mcpServers.find(({ name }) => name === rest);
    const env = server !== undefined && 'env' in server ? server.env : [];
    return say(env.map(({ name, value }) => `${name}=${value}`).join('\n'));
  },
} satisfies Readonly<Record<string, Command>>;
