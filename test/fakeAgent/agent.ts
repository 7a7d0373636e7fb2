// A scripted agent that speaks ACP on its standard streams: `node agent.ts [flags]`. What it does is told by the lines
// of the prompt, see script.ts; what it offers, by flags, see flags.ts. A prompt without any such line is said back.
import { Readable, Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { startActivity } from './activity.ts';
import { readFlags } from './flags.ts';
import { holdAt } from './holds.ts';
import { noteStart } from './starts.ts';

const flags = readFlags(process.argv.slice(2));
noteStart();
if (flags.activity) startActivity();
if (flags.crashOnStart) {
  process.stderr.write('fake agent: told to crash at the start\n');
  process.exit(1);
}
await wait(flags.slowStartMs);
await holdAt('start');
if (flags.neverInitialize) {
  process.stdin.on('end', () => process.exit(0)).resume();
} else {
  // Loaded only now: it takes longer than all the rest.
  const [{ ndJsonStream }, { createFakeAgent }] = await Promise.all([
    import('@agentclientprotocol/sdk'),
    import('./app.ts'),
  ]);
  const output = Writable.toWeb(process.stdout) as WritableStream<Uint8Array>;
  const input = Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>;
  const connection = createFakeAgent(flags).connect(ndJsonStream(output, input));
  void connection.closed.then(() => process.exit(0));
}
