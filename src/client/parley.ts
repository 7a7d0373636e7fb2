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

export type Parley = ReturnType<typeof createParley>;

/**
 * Calls throw a ParleyError, or the reason of their signal. Only creations and streams are tried again by themselves:
 * whatever else is sent is sent once.
 */
export function createParley(options: ParleyOptions) {
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
