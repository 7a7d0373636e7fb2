// A model for the gateway, in a child process. It streams as many pieces as the request asks for, at a steady rate, each
// with the time when it was sent.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelBody } from './gatewayLoad.ts';
import { sharedMs } from './processes.ts';

const model = 'gpt-4o-2024-08-06';

function pieceOf(number: number): string {
  const choices = [{ index: 0, delta: { content: `word ${number} ` }, logprobs: null, finish_reason: null }];
  const sent_at = sharedMs();
  const data = {
    id: 'chatcmpl-0123456789',
    object: 'chat.completion.chunk',
    created: 0,
    model,
    choices,
    sent_at,
  };
  return `data: ${JSON.stringify(data)}\n\n`;
}

async function stream(response: ServerResponse, { pieces, every_ms: everyMs }: ModelBody): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const began = performance.now();
  for (let number = 0; number < pieces && !response.destroyed; number++) {
    const dueMs = began + number * everyMs - performance.now();
    if (dueMs > 0) await sleep(dueMs);
    response.write(pieceOf(number));
  }
  response.end(
    'data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10}}\n\ndata: [DONE]\n\n',
  );
}

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  await stream(response, JSON.parse(Buffer.concat(chunks).toString()));
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
