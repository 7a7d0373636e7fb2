// A program that throws in every kind of callback that a run has, and prints what each error was attributed to.
import { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { createServer, get } from 'node:http';
import { type AddressInfo, connect, createServer as createSocketServer } from 'node:net';
import { asRun, currentRun } from '../../src/runs/currentRun.ts';

process.on('uncaughtException', ({ message }) => {
  process.stdout.write(`${message}: ${currentRun()?.conversationId ?? 'none'}\n`);
});

const fail = (what: string) => () => {
  throw new Error(what);
};
const crash = async () => {};
const inRun = <Out>(conversationId: string, work: () => Out) => asRun({ conversationId, crash }, work);

inRun('timeout', () => setTimeout(fail('timeout'), 1));
inRun('interval', () => {
  const timer = setInterval(() => {
    clearInterval(timer);
    fail('interval')();
  }, 1);
});
inRun('immediate', () => setImmediate(fail('immediate')));
inRun('tick', () => process.nextTick(fail('tick')));
inRun('microtask', () => queueMicrotask(fail('microtask')));
inRun('rejection', () => void Promise.resolve().then(fail('rejection')));
inRun('async', async () => {
  await new Promise((resolve) => setTimeout(resolve, 1));
  fail('async')();
});
inRun('child', () => {
  const child = spawn(process.execPath, ['-p', '1']);
  child.stdout.on('data', fail('child'));
});
inRun('exit', () => spawn(process.execPath, ['-p', '1']).on('exit', fail('exit')));
inRun('spawn', () => spawn('/there/is/no/such/program').on('error', fail('spawn')));
inRun('abort', () => {
  const controller = new AbortController();
  controller.signal.addEventListener('abort', fail('abort'));
  setTimeout(() => controller.abort(), 1);
});
inRun('emitter', () => {
  const emitter = new EventEmitter();
  setTimeout(() => emitter.emit('error', new Error('emitter')), 1);
});
const sockets = createSocketServer((socket) => socket.end('x')).listen(0, '127.0.0.1', () =>
  inRun('socket', () => {
    const { port } = sockets.address() as AddressInfo;
    connect(port, '127.0.0.1')
      .on('close', () => sockets.close())
      .on('data', fail('socket'));
  }),
);
inRun('request', () => {
  const server = createServer((_, response) => {
    response.end();
    fail('request')();
  });
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    get({ port, host: '127.0.0.1', agent: false }, (response) =>
      response.resume().on('end', () => server.close()),
    );
  });
});
setTimeout(fail('nobody'), 1);
