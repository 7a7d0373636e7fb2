// The built-in agent: a program that speaks ACP on its standard streams, and uses its model through the gateway.
import { homedir } from 'node:os';
import { Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk';
import { createAgentApp } from './app.ts';
import { configVariable, readConfig } from './config.ts';

// The MCP library has unhandled rejections when a connection breaks. The affected call has failed already.
process.on('unhandledRejection', (error) => process.stderr.write(`${(error as Error)?.message}\n`));

// Warnings of the AI SDK are for its developers.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const { [configVariable]: configText, ...env } = process.env;
const { app, close } = createAgentApp({ config: readConfig(configText), home: homedir(), env });
// Processes that the agent starts must not inherit it.
delete process.env[configVariable];
const output = Writable.toWeb(process.stdout) as WritableStream<Uint8Array>;
const input = Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>;
await app.connect(ndJsonStream(output, input)).closed;
await close();
process.exit(0);
