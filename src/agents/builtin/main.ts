// The built-in agent: a program that speaks ACP on its standard streams, and asks its model through the gateway.
import { homedir } from 'node:os';
import { Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk';
import { createAgentApp } from './app.ts';
import { configVariable, readConfig } from './config.ts';

// The libraries of tool servers leave rejections behind when a connection breaks; the use that it broke has failed.
process.on('unhandledRejection', (error) => process.stderr.write(`${(error as Error)?.message}\n`));

// They are for those who write programs with it.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const { [configVariable]: told, ...env } = process.env;
const { app, close } = createAgentApp({ config: readConfig(told), home: homedir(), env });
// What it starts has no need of it.
delete process.env[configVariable];
const output = Writable.toWeb(process.stdout) as WritableStream<Uint8Array>;
const input = Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>;
await app.connect(ndJsonStream(output, input)).closed;
await close();
process.exit(0);
