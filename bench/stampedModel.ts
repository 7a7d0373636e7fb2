// A model that answers each request with pieces of text that contain the time when they were sent.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sharedMs } from './processes.ts';

const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 0, model: 'gpt-4o' };

function frameOf(delta: object, finishReason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return `data: ${JSON.stringify({ ...head, choices })}\n\n`;
}

/** `plan` says how many pieces the next answer has, and how far apart they are. */
export async function startStampedModel(plan: () => { pieces: number; everyMs: number }) {
  const server = createServer(async (request, response) => {
    // The body must be read before the connection can be used again.
    request.resume();
    const { pieces, everyMs } = plan();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let i = 0; i < pieces && !response.destroyed; i++) {
      if (i > 0) await sleep(everyMs);
      response.write(frameOf({ role: 'assistant', content: `<${sharedMs()}> ` }));
    }
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
    response.write(frameOf({}, 'stop'));
    response.end(`data: ${JSON.stringify({ ...head, choices: [], usage })}\n\ndata: [DONE]\n\n`);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
