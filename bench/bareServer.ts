// The baseline: a bare `node:http` server in a child process that answers every request with the same bytes and headers
// as the service. It reads and parses the body, and stores nothing.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer } from './requests.ts';

const { status, headers, keepAliveMs, body } = JSON.parse(process.argv[2] ?? '') as Answer;

function answer(response: ServerResponse): void {
  response.writeHead(status, headers);
  // Node sends text together with the headers, which is cheaper than a buffer.
  response.end(body);
}

function parseThenAnswer(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const [only] = chunks;
    const whole = only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
    JSON.parse(whole.toString('utf8'));
    answer(response);
  });
}

const server = createServer({ keepAliveTimeout: keepAliveMs }, (request, response) => {
  if (request.method === 'GET') answer(response);
  else parseThenAnswer(request, response);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
