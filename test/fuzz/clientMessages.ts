// Valid messages of an ACP client, from which the fuzzer makes invalid ones.
import type { Random } from '../chaos/random.ts';
import type { Json } from './messages.ts';

const text = (value: string) => ({ type: 'text', text: value });
const image = { type: 'image', mimeType: 'image/png', data: 'AAAA' };
const file = { type: 'resource', resource: { uri: 'file:///a.ts', text: 'let a;', mimeType: 'text/plain' } };
const link = { type: 'resource_link', uri: 'file:///b.ts', name: 'b.ts' };

const servers = [
  { name: 'docs', command: 'docs', args: ['--all'], env: [{ name: 'TOKEN', value: 'x' }] },
  { type: 'http', name: 'web', url: 'https://example.com/mcp', headers: [] },
];

/** A request or a notification about one of the sessions. */
function call(sessionId: string, random: Random): Json {
  const here = { sessionId, cwd: '/home/me/project', mcpServers: random.pick<unknown[]>([[], [], servers]) };
  const say = [text(`say ${random.between(1, 1_000)}`), ...random.pick([[], [image], [file, link]])];
  return random.pick<() => Json>([
    () => ({ method: 'session/prompt', params: { sessionId, prompt: say } }),
    () => ({ method: 'session/prompt', params: { sessionId, prompt: say } }),
    () => ({ method: 'session/load', params: here }),
    () => ({ method: 'session/resume', params: here }),
    () => ({ method: 'session/list', params: { cursor: null } }),
    () => ({ method: 'session/set_config_option', params: { sessionId, configId: 'agent', value: 'other' } }),
    () => ({ method: 'session/set_mode', params: { sessionId, modeId: 'plan' } }),
    () => ({ method: 'session/close', params: { sessionId } }),
    () => ({
      method: 'initialize',
      params: { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: true }, terminal: true } },
    }),
    () => ({ method: 'authenticate', params: { methodId: 'x' } }),
  ])();
}

/** Any message of a client. Few create a session, because each is a conversation. */
export function clientMessage(sessions: readonly string[], random: Random): Json {
  const sessionId = random.chance(0.1) ? 'nothing' : random.pick(sessions);
  const id = random.pick<unknown>([
    random.between(1, 1_000_000),
    random.between(1, 20),
    `id-${random.next()}`,
  ]);
  const base = { jsonrpc: '2.0' };
  if (random.chance(0.1)) return { ...base, method: 'session/cancel', params: { sessionId } };
  if (random.chance(0.05)) return { ...base, method: '$/cancel_request', params: { requestId: id } };
  if (random.chance(0.1)) {
    const outcome = { outcome: 'selected', optionId: 'allow' };
    return { ...base, id: random.between(0, 20), result: { outcome } };
  }
  if (random.chance(0.01))
    return { ...base, id, method: 'session/new', params: { cwd: '/', mcpServers: [] } };
  return { ...base, id, ...call(sessionId, random) };
}
