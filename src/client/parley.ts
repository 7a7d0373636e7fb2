// The client of Parley, for Node and browsers: `createParley({ url, key })`. It needs nothing but `fetch`.
import { type CreateTimes, conversationCalls } from './conversations.ts';
import { ParleyError } from './errors.ts';
import type { FollowTimes } from './follow.ts';
import {
  agentCalls,
  defaultCalls,
  gitProviderCalls,
  keyCalls,
  mcpCalls,
  optionCalls,
  providerKeyCalls,
  secretCalls,
  serverCalls,
  settingsCalls,
  webhookCalls,
} from './records.ts';
import { repositoryCalls } from './repositories.ts';
import type { Fetch } from './request.ts';
import { identityCalls, sessionCalls, signInCalls } from './signIn.ts';
import { streamCalls } from './streams.ts';
import { userCalls } from './users.ts';
import { workspaceCalls } from './workspace.ts';

export { createOpenTexts, type OpenText, type OpenTexts } from '../events/decoder/openTexts.ts';
export type { AgentState } from './agentState.ts';
export { approvalText } from './approvalText.ts';
export type { CallOptions, CreateOptions, CreateTimes } from './conversations.ts';
export { ParleyError, type ParleyErrorCode } from './errors.ts';
export { decodeEvent } from './events.ts';
export type { FollowTimes, StreamState } from './follow.ts';
export type { Fetch } from './request.ts';
export type {
  ChangesOptions,
  EventsOptions,
  FollowOptions,
  LiveEventsOptions,
  WaitOptions,
} from './streams.ts';
export type * from './types.ts';

export interface ParleyOptions {
  /** Such as http://127.0.0.1:3000. Empty in a page that the service itself serves. */
  readonly url: string;
  /** An API key. */
  readonly key?: string | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: Fetch | undefined;
  readonly times?: { readonly [Name in keyof Times]?: Times[Name] | undefined };
}

export interface Times extends CreateTimes, FollowTimes {
  /** The timeout of one request, until its response has arrived. */
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
  readonly agents: ReturnType<typeof agentCalls>;
  readonly providerKeys: ReturnType<typeof providerKeyCalls>;
  readonly gitProviders: ReturnType<typeof gitProviderCalls>;
  readonly repositories: ReturnType<typeof repositoryCalls>;
  readonly mcp: ReturnType<typeof mcpCalls>;
  readonly defaults: ReturnType<typeof defaultCalls>;
  readonly keys: ReturnType<typeof keyCalls>;
  readonly users: ReturnType<typeof userCalls>;
  readonly signIn: ReturnType<typeof signInCalls>;
  readonly sessions: ReturnType<typeof sessionCalls>;
  readonly identities: ReturnType<typeof identityCalls>;
  readonly webhooks: ReturnType<typeof webhookCalls>;
  readonly server: ReturnType<typeof serverCalls>;
}

/** Removes undefined fields, so that they do not override the defaults. */
function definedOf(times: ParleyOptions['times'] = {}): Partial<Times> {
  return Object.fromEntries(Object.entries(times).filter(([, value]) => value !== undefined));
}

function checkUrl(url: string): void {
  if (url === '' || (/^https?:\/\//i.test(url) && URL.canParse(url))) return;
  throw new ParleyError(
    'invalid',
    'url must be an http or https URL, or empty in a page that the service itself serves.',
  );
}

/**
 * Calls throw a ParleyError, or the reason of their signal. Only creations, messages and streams are retried;
 * everything else is sent once.
 */
export function createParley(options: ParleyOptions): Parley {
  checkUrl(options.url);
  const times: Times = { ...defaults, ...definedOf(options.times) };
  const connection = {
    url: options.url.replace(/\/+$/, ''),
    key: options.key,
    // The global `fetch` is read at each call, because some programs replace it. Browsers refuse it as a method.
    fetch: options.fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init)),
    timeoutMs: times.timeoutMs,
  };
  return {
    settings: settingsCalls(connection),
    conversations: conversationCalls(connection, times),
    workspace: workspaceCalls(connection),
    options: optionCalls(connection),
    secrets: secretCalls(connection),
    agents: agentCalls(connection),
    providerKeys: providerKeyCalls(connection),
    gitProviders: gitProviderCalls(connection),
    repositories: repositoryCalls(connection),
    mcp: mcpCalls(connection),
    defaults: defaultCalls(connection),
    keys: keyCalls(connection),
    users: userCalls(connection),
    signIn: signInCalls(connection),
    sessions: sessionCalls(connection),
    identities: identityCalls(connection),
    webhooks: webhookCalls(connection),
    server: serverCalls(connection),
    ...streamCalls(connection, times),
  };
}
