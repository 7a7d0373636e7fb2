// The client of Parley, for Node and browsers: `createParley({ url, key })`. It needs nothing but `fetch`.
import { conversationCalls, streamCalls, type Times } from './conversations.ts';
import {
  gitProviderCalls,
  keyCalls,
  mcpCalls,
  optionCalls,
  secretCalls,
  serverCalls,
  settingsCalls,
  webhookCalls,
} from './records.ts';
import type { Fetch } from './request.ts';
import { workspaceCalls } from './workspace.ts';

export type {
  CallOptions,
  ChangesOptions,
  CreateOptions,
  EventsOptions,
  FollowOptions,
  Times,
} from './conversations.ts';
export { ParleyError, type ParleyErrorCode } from './errors.ts';
export type { StreamState } from './follow.ts';
export type { Fetch } from './request.ts';
export type * from './types.ts';

export interface ParleyOptions {
  /** Such as http://127.0.0.1:3000. Empty in a page of the service itself. */
  readonly url: string;
  /** A session key. */
  readonly key?: string | undefined;
  /** In place of the global one. */
  readonly fetch?: Fetch | undefined;
  readonly times?: Partial<Times & { readonly timeoutMs: number }>;
}

/** Of one request, where nothing else is said. */
const timeoutMs = 30_000;
const defaults: Times = {
  createForMs: 60_000,
  silenceMs: 45_000,
  reconnectMs: undefined,
  reconnectMaxMs: 15_000,
};

export interface Parley extends ReturnType<typeof streamCalls> {
  readonly settings: ReturnType<typeof settingsCalls>;
  readonly conversations: ReturnType<typeof conversationCalls>;
  readonly workspace: ReturnType<typeof workspaceCalls>;
  readonly options: ReturnType<typeof optionCalls>;
  readonly secrets: ReturnType<typeof secretCalls>;
  readonly gitProviders: ReturnType<typeof gitProviderCalls>;
  readonly mcp: ReturnType<typeof mcpCalls>;
  readonly keys: ReturnType<typeof keyCalls>;
  readonly webhooks: ReturnType<typeof webhookCalls>;
  readonly server: ReturnType<typeof serverCalls>;
}

/**
 * Calls throw a ParleyError, or the reason of their signal. Only creations and streams are tried again by themselves:
 * whatever else is sent is sent once.
 */
export function createParley(options: ParleyOptions): Parley {
  const times = { ...defaults, ...options.times };
  const connection = {
    url: options.url.replace(/\/+$/, ''),
    key: options.key,
    // Asked for at each call, for some replace it; and not as a method, which browsers refuse.
    fetch: options.fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init)),
    timeoutMs: options.times?.timeoutMs ?? timeoutMs,
  };
  return {
    settings: settingsCalls(connection),
    conversations: conversationCalls(connection, times),
    workspace: workspaceCalls(connection),
    options: optionCalls(connection),
    secrets: secretCalls(connection),
    gitProviders: gitProviderCalls(connection),
    mcp: mcpCalls(connection),
    keys: keyCalls(connection),
    webhooks: webhookCalls(connection),
    server: serverCalls(connection),
    ...streamCalls(connection, times),
  };
}
