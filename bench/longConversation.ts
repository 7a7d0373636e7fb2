// Measures whether a conversation with the built-in agent stays fast: the cost of its last turns compared with its first.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createStorage } from '../test/support/databases.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { childrenOf, cpuUs } from './processes.ts';
import { atMost, decimals, type PartReport, type Table, whole } from './report.ts';
import { followConversation, message, postConversation, sendMessage, sendOnce } from './requests.ts';
import { startService } from './service.ts';
import { median } from './statistics.ts';

const slowdownMax = 1.2;
const two = decimals(2);
const turnTimeoutMs = 60_000;
const streamField = '"stream":true';
const turnOver = '"agent_state":"awaiting_user_input"';

const chunk = (data: object) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...data })}\n\n`;
const answer = [
  chunk({
    choices: [
      { index: 0, delta: { role: 'assistant', content: 'I changed the page, and its test passes.' } },
    ],
  }),
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  // The count is low, so that the history is condensed because of its messages only.
  chunk({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } }),
  'data: [DONE]\n\n',
].join('');

const summary = JSON.stringify({
  choices: [
    { index: 0, message: { role: 'assistant', content: 'Pages were changed.' }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
});

/** A model that does not parse its requests, so that its own time does not grow with them. */
async function listenModel(lifetime: Lifetime): Promise<string> {
  const server = createServer((request, response) => {
    let isStream = false;
    let tail = Buffer.alloc(0);
    // The field may be in two pieces.
    request.on('data', (piece: Buffer) => {
      const bytes = Buffer.concat([tail, piece]);
      isStream ||= bytes.includes(streamField);
      tail = bytes.subarray(-streamField.length);
    });
    request.on('end', () => {
      const type = isStream ? 'text/event-stream' : 'application/json';
      response.writeHead(200, { 'content-type': type }).end(isStream ? answer : summary);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  lifetime.atEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns a function that waits for the end of the next turn. */
async function followTurns(url: string, id: string): Promise<() => Promise<void>> {
  const { path, headers } = followConversation(id);
  const response = await fetch(url + path, { headers });
  if (!response.ok || response.body === null) throw new Error(`the stream gave ${response.status}`);
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let unread = '';
  return async () => {
    const late = setTimeout(() => void reader.cancel(), turnTimeoutMs);
    for (let at = unread.indexOf(turnOver); ; at = unread.indexOf(turnOver)) {
      if (at >= 0) {
        unread = unread.slice(at + turnOver.length);
        break;
      }
      const { done, value } = await reader.read();
      if (done) throw new Error('a turn did not end');
      unread = unread.slice(-turnOver.length) + decoder.decode(value, { stream: true });
    }
    clearTimeout(late);
  };
}

/** What a message took: the time until its turn was over, and the CPU time of the service and of the agent. */
interface Cost {
  readonly ms: number;
  readonly serviceMs: number;
  readonly agentMs: number;
}

interface Running {
  readonly url: string;
  readonly pid: number;
}

/** Returns the cost of each message, after the warm-up. */
async function converse({ url, pid }: Running, count: number, warmups: number): Promise<Cost[]> {
  const body = JSON.stringify({ initial_user_msg: message });
  const before = childrenOf(pid);
  const created = await sendOnce(url, { ...postConversation, body });
  const { conversation_id: id } = JSON.parse(created.body) as { conversation_id: string };
  const turnEnds = await followTurns(url, id);
  await turnEnds();
  const agents = childrenOf(pid).filter((child) => !before.includes(child));
  const agentMs = () => agents.reduce((sum, agent) => sum + cpuUs(agent) / 1_000, 0);
  const costs: Cost[] = [];
  for (let sent = 0; sent < warmups + count; sent++) {
    const [service, agent, began] = [cpuUs(pid) / 1_000, agentMs(), performance.now()];
    await sendOnce(url, sendMessage(id));
    await turnEnds();
    costs.push({
      ms: performance.now() - began,
      serviceMs: cpuUs(pid) / 1_000 - service,
      agentMs: agentMs() - agent,
    });
  }
  return costs.slice(warmups);
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const cpuOf = (costs: readonly Cost[]) => mean(costs.map(({ serviceMs, agentMs }) => serviceMs + agentMs));
const timeOf = (costs: readonly Cost[]) => median(costs.map(({ ms }) => ms));

function rowsOf(costs: readonly Cost[], counted: number): string[][] {
  const first = costs.slice(0, counted);
  const every = Math.max(counted, costs.length / 10);
  const starts = Array.from({ length: Math.floor(costs.length / every) }, (_, i) => i * every);
  return [...starts.slice(0, -1), costs.length - counted].map((at) => {
    const part = costs.slice(at, at + counted);
    return [
      whole(at + 1),
      two(timeOf(part)),
      two(timeOf(part) / timeOf(first)),
      two(mean(part.map(({ serviceMs }) => serviceMs))),
      two(mean(part.map(({ agentMs }) => agentMs))),
      two(cpuOf(part) / cpuOf(first)),
    ];
  });
}

function tableOf(title: string, costs: readonly Cost[], counted: number, note: string): Table {
  const heads = [
    `${counted} messages from`,
    'ms a message, median',
    'to the first',
    'CPU ms of the service, mean',
    'of the agent',
    'CPU to the first',
  ];
  return { title, heads, rows: rowsOf(costs, counted), note };
}

/** Each conversation has a service of its own, because a warm one would make the first messages faster. */
async function measure(lifetime: Lifetime, condenses: boolean, plan: Plan): Promise<Cost[]> {
  const { messages, warmups } = plan.longConversation;
  const how = condenses ? 'condensed' : 'not condensed';
  process.stderr.write(`long-conversation: ${whole(messages)} messages, ${how} …\n`);
  const storage = await createStorage('sqlite');
  const service = await startService(lifetime, storage, {
    PARLEY_ROLE: 'all',
    PARLEY_SANDBOX: 'process',
    PARLEY_MODEL_HOSTS: `deepseek=${await listenModel(lifetime)}`,
  });
  const settings = {
    llm_model: 'deepseek/deepseek-chat',
    llm_api_key: 'sk-of-the-benchmark',
    enable_default_condenser: condenses,
  };
  const body = JSON.stringify(settings);
  await sendOnce(service.url, { ...postConversation, path: '/api/settings', body });
  const costs = await converse(service, messages, warmups);
  await service.stop();
  await storage.remove();
  return costs;
}

export async function measureLongConversation(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const { messages, counted, warmups } = plan.longConversation;
  const condensed = await measure(lifetime, true, plan);
  const uncondensed = await measure(lifetime, false, plan);
  const of = `the last ${counted} of ${whole(messages)} messages to that of the first ${counted}`;
  const ratio = (costs: readonly Cost[], value: (part: readonly Cost[]) => number) =>
    value(costs.slice(-counted)) / value(costs.slice(0, counted));
  return {
    tables: [
      tableOf(
        'A long conversation with the built-in agent',
        condensed,
        counted,
        `Each message is a turn with one model request, on SQLite, in a sandbox of type process, after ${warmups} messages that are not counted. The history is condensed when it has 800 messages, which takes one model request.`,
      ),
      tableOf(
        'The same without a condenser',
        uncondensed,
        counted,
        'Every request contains the whole conversation.',
      ),
    ],
    figures: [
      atMost(`Time of ${of}`, ratio(condensed, timeOf), slowdownMax, two),
      atMost(`CPU time of ${of}`, ratio(condensed, cpuOf), slowdownMax, two),
    ],
  };
}
