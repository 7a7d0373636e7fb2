// The client of Parley, for Node and browsers: `createParley({ url, key })`. It needs nothing but `fetch`.
import { type CreateTimes, conversationCalls } from './conversations.ts';
import { ParleyError } from './errors.ts';
import type { FollowTimes } from './follow.ts';
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
import { streamCalls } from './streams.ts';
import { workspaceCalls } from './workspace.ts';

export type { AgentState } from './agentState.ts';
export { approvalText } from './approvalText.ts';
export type { CallOptions, CreateOptions, CreateTimes } from './conversations.ts';
export { ParleyError, type ParleyErrorCode } from './errors.ts';
export { decodeEvent } from './events.ts';
export type { FollowTimes, StreamState } from './follow.ts';
export type { Fetch } from './request.ts';
export type { ChangesOptions, EventsOptions, FollowOptions, WaitOptions } from './streams.ts';
export type * from './types.ts';

export interface ParleyOptions {
  /** Such as http://127.0.0.1:3000. Empty in a page of the service itself. */
  readonly url: string;
  /** A session key. */
  readonly key?: string | undefined;
  /** In place of the global one. */
  readonly fetch?: Fetch | undefined;
  readonly times?: { readonly [Name in keyof Times]?: Times[Name] | undefined };
}

export interface Times extends CreateTimes, FollowTimes {
  /** Of one request, from when it is sent until its answer is there. */
  readonly timeoutMs: number;
}

const defaults: Times = {
  timeoutMs: 30_000,
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

/** What was said: a member that is undefined says nothing. */
function definedOf(times: ParleyOptions['times'] = {}): Partial<Times> {
  return Object.fromEntries(Object.entries(times).filter(([, value]) => value !== undefined));
}

function checkUrl(url: string): void {
  if (url === '' || (/^https?:\/\//i.test(url) && URL.canParse(url))) return;
  throw new ParleyError('invalid', 'url must be an http or https URL, or empty in a page of the service.');
}

/**
 * Calls throw a ParleyError, or the reason of their signal. Only creations and streams are tried again by themselves:
 * whatever else is sent is sent once.
 */
export function createParley(options: ParleyOptions): Parley {
  checkUrl(options.url);
  const times: Times = { ...defaults, ...definedOf(options.times) };
  const connection = {
    url: options.url.replace(/\/+$/, ''),
    key: options.key,
    // Asked for at each call, for some replace it; and not as a method, which browsers refuse.
    fetch: options.fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init)),
    timeoutMs: times.timeoutMs,
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
