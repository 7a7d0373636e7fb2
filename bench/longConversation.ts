// Measures whether a conversation with the built-in agent stays fast: the time of its last turns compared with its first.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createStorage } from '../test/support/databases.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { atMost, decimals, type PartReport, whole } from './report.ts';
import { followConversation, message, postConversation, sendMessage, sendOnce } from './requests.ts';
import { startService } from './service.ts';
import { median, spread } from './statistics.ts';

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

export async function measureLongConversation(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const { messages, counted, warmups } = plan.longConversation;
  process.stderr.write(`long-conversation: ${whole(messages)} messages …\n`);
  const storage = await createStorage('sqlite');
  const { url, stop } = await startService(lifetime, storage, {
    PARLEY_ROLE: 'all',
    PARLEY_SANDBOX: 'process',
    PARLEY_MODEL_HOSTS: `deepseek=${await listenModel(lifetime)}`,
  });
  const settings = { llm_model: 'deepseek/deepseek-chat', llm_api_key: 'sk-of-the-benchmark' };
  await sendOnce(url, { ...postConversation, path: '/api/settings', body: JSON.stringify(settings) });
  const body = JSON.stringify({ initial_user_msg: message });
  const created = await sendOnce(url, { ...postConversation, body });
  const { conversation_id: id } = JSON.parse(created.body) as { conversation_id: string };
  const turnEnds = await followTurns(url, id);
  await turnEnds();
  const times: number[] = [];
  for (let sent = 0; sent < warmups + messages; sent++) {
    const began = performance.now();
    await sendOnce(url, sendMessage(id));
    await turnEnds();
    times.push(performance.now() - began);
  }
  await stop();
  await storage.remove();
  const firstMs = median(times.slice(warmups, warmups + counted));
  const rows: string[][] = [];
  for (let at = warmups; at + counted <= times.length; at += Math.max(counted, messages / 20)) {
    const part = times.slice(at, at + counted);
    rows.push([whole(at - warmups + 1), two(median(part)), spread(part, whole), two(median(part) / firstMs)]);
  }
  const lastMs = median(times.slice(-counted));
  return {
    tables: [
      {
        title: 'A long conversation with the built-in agent',
        heads: [`${counted} messages from`, 'ms a message, median', 'range', 'to the first'],
        rows,
        note: `Each message is a turn with one model request, on SQLite, in a sandbox of type process, after ${warmups} messages that are not counted. The history is condensed when it has 800 messages, which takes one model request.`,
      },
    ],
    figures: [
      atMost(
        `Time of the last ${counted} of ${whole(messages)} messages to that of the first ${counted}`,
        lastMs / firstMs,
        slowdownMax,
        two,
      ),
    ],
  };
}
