// `parley acp`: an ACP agent on the standard streams, for editors. Nothing but the protocol is written to stdout.
import { Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk';
import { createAcpApp } from '../../acp/app.ts';
import { version } from '../../process/version.ts';
import { mib } from '../../validation/schema.ts';
import type { Handler } from '../command.ts';
import { connect, isServiceNamed } from '../connection/connection.ts';
import { type LocalService, openLocalService } from '../connection/localService.ts';
import type { acpCommand } from '../declarations/services.ts';
import { exits } from '../exits.ts';

/** A prompt may contain images. */
const messageBytesMax = 32 * mib;

async function openService(): Promise<LocalService> {
  return isServiceNamed() ? { parley: connect(), wake: async () => {} } : openLocalService();
}

export const acp: Handler<typeof acpCommand> = async () => {
  const { parley, wake } = await openService();
  const { app, close } = createAcpApp({ parley, version, wake });
  const output = Writable.toWeb(process.stdout) as WritableStream<Uint8Array>;
  const input = Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>;
  await app.connect(ndJsonStream(output, input, { maxMessageBytes: messageBytesMax })).closed;
  close();
  return exits.done;
};
