// Lines that make the fake agent fail, in every way in which agents were seen to fail.
import { once } from 'node:events';
import { RequestError } from '@agentclientprotocol/sdk';
import type { Command } from './script.ts';

const internalError = -32603;

export const failures = {
  /** Until it is cancelled. */
  hang: async ({ signal }) => {
    if (!signal.aborted) await once(signal, 'abort');
  },
  'ignore-cancel': () => new Promise<void>(() => {}),
  'crash-on-cancel': async ({ signal }) => {
    if (!signal.aborted) await once(signal, 'abort');
    process.exit(1);
  },
  'error-on-cancel': async ({ signal }) => {
    if (!signal.aborted) await once(signal, 'abort');
    throw new RequestError(internalError, 'aborted');
  },
  crash: () => {
    process.stderr.write('fake agent: told to crash\n');
    process.exit(1);
  },
  'kill-self': async () => {
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => {});
  },
  garbage: () => {
    process.stdout.write('this is no JSON\n');
  },
  /** `huge 1000000`: one update of so many bytes. */
  huge: ({ update }, rest) =>
    update({
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text: 'x'.repeat(Number(rest)) },
    }),
  error: (_, rest) => {
    throw new RequestError(internalError, rest);
  },
} satisfies Readonly<Record<string, Command>>;
