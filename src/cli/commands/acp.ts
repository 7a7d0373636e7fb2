// `parley acp`: an ACP agent on the standard streams, for editors. Nothing but the protocol is written to stdout.
import { Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk';
import { createAcpApp } from '../../acp/app.ts';
import { guardStream } from '../../acp/guardedStream.ts';
import { version } from '../../process/version.ts';
import { mib } from '../../validation/schema.ts';
import type { Handler } from '../command.ts';
import { openEditorService } from '../connection/editorService.ts';
import type { acpCommand } from '../declarations/services.ts';
import { exits } from '../exits.ts';
import { createEditorFolders } from '../folders/editorFolders.ts';

/** A prompt may contain images. */
const messageBytesMax = 32 * mib;
/** What is still open when the editor has gone, such as a request to a service that does not answer, is cut off then. */
const lingerMs = 500;

export const acp: Handler<typeof acpCommand> = async () => {
  const { parley, isLocal, use } = openEditorService();
  const folders = createEditorFolders({ isLocal, url: process.env['PARLEY_URL'] || undefined });
  const { app, close } = createAcpApp({ parley, version, folders, use });
  // The service starts while the editor sends its first requests, which report what went wrong.
  use(async () => {}).catch(() => {});
  const output = Writable.toWeb(process.stdout) as WritableStream<Uint8Array>;
  const input = Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>;
  const stream = ndJsonStream(output, input, { maxMessageBytes: messageBytesMax });
  await app.connect(guardStream(stream)).closed;
  close();
  setTimeout(() => process.exit(exits.done), lingerMs).unref();
  return exits.done;
};
