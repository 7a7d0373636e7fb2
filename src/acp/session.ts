// A session of an ACP client: follows the log of its conversation, and answers a prompt when the agent has ended its
// turn. The conversation goes on when the client is gone.
import type { ContentBlock, PromptResponse, SessionUpdate } from '@agentclientprotocol/sdk';
import { type AgentState, nextState, unknownState } from '../client/agentState.ts';
import { type Decision, type Parley, ParleyError, type ParleyEvent } from '../client/parley.ts';
import type { Paths } from './clientFolders.ts';
import { commandUpdates } from './commandUpdates.ts';
import { toMessage } from './promptContent.ts';
import { createPrompts, type Prompt } from './prompts.ts';
import { retryTemporary } from './retryTemporary.ts';
import type { Updates } from './updates.ts';

/** The part of the log that shows the state of the agent. */
const tailEventsMax = 100;

export interface SessionClient {
  /** Resolves when the update has been written, so that a slow client slows down the stream. */
  send(update: SessionUpdate): Promise<void>;
  /** Resolves with undefined if the client gives no answer, or the request is withdrawn by the signal. */
  requestApproval(question: ParleyEvent, signal: AbortSignal): Promise<Decision | undefined>;
}

interface SessionOptions {
  readonly parley: Parley;
  readonly id: string;
  readonly client: SessionClient;
  readonly updates: Updates;
  readonly paths: Paths;
  /** What the client is told with its first prompt: before that, some clients do not know the session yet. */
  readonly notes: readonly string[];
  /** Whether the client gets the whole log, or only what is new. */
  readonly replay: boolean;
}

export interface Session {
  readonly id: string;
  /** Resolves when the client has what was in the log when the session was opened. */
  readonly replayed: Promise<void>;
  prompt(blocks: readonly ContentBlock[]): Promise<PromptResponse>;
  cancel(): Promise<void>;
  /** Stops following the conversation. */
  close(): void;
}

export async function openSession(options: SessionOptions): Promise<Session> {
  const { parley, id, client, updates, paths, replay } = options;
  const notes = options.notes.map(updates.note);
  const closing = new AbortController();
  const { signal } = closing;
  const tail = await parley.conversations.events(id, { reverse: true, limit: tailEventsMax });
  const newest = tail.events[0]?.id ?? -1;
  let state: AgentState = replay ? unknownState : tail.events.toReversed().reduce(nextState, unknownState);
  let isLive = newest < 0 || !replay;
  const commands = replay ? [] : (tail.events.map(commandUpdates).find(({ length }) => length > 0) ?? []);
  /** The first event that the client does not have. */
  let next = replay ? 0 : newest + 1;
  let isFollowing = false;
  const caughtUp = Promise.withResolvers<void>();
  const prompts = createPrompts(async () => {
    const info = await retryTemporary(() => parley.conversations.get(id, { signal }), signal);
    return info.stop_reason;
  });
  /** Messages that are on their way to the service. */
  const sending = new Set<Promise<unknown>>();
  const ownMessages = new Set<number>();
  let question: { readonly id: number; readonly withdrawn: AbortController } | undefined;

  /** Asks the client about the action that waits, unless it was asked already. Whoever answers first decides. */
  function requestApproval(): void {
    const waiting = state.name === 'awaiting_user_confirmation' ? state.question : undefined;
    if (question !== undefined && question.id !== waiting?.id) {
      question.withdrawn.abort();
      question = undefined;
    }
    if (waiting === undefined || question !== undefined || !isLive) return;
    const withdrawn = new AbortController();
    question = { id: waiting.id, withdrawn };
    const withdrawal = AbortSignal.any([withdrawn.signal, signal]);
    void client
      .requestApproval(waiting, withdrawal)
      .then((decision) => {
        if (decision === undefined) return;
        const answer = { decision, question: waiting.id };
        return retryTemporary(() => parley.conversations.confirm(id, answer, { signal }), withdrawal);
      })
      .catch(() => {
        // It was answered elsewhere, or the connection is gone. The log shows what happened.
      });
  }

  async function isOwn(event: ParleyEvent): Promise<boolean> {
    if (event.type !== 'action.message' || event.source !== 'user') return false;
    // The message may be in the log before the response of the service says which event it is.
    await Promise.allSettled(sending);
    return ownMessages.delete(event.id);
  }

  async function onEvent(event: ParleyEvent): Promise<void> {
    state = nextState(state, event);
    const own = await isOwn(event);
    const isError = event.type === 'observation.error' && event.replayed !== true;
    if (isError) prompts.noteError(event);
    // The client gets errors and cancellations as the response to its prompt.
    const isResponse = (isError && prompts.areWaiting()) || prompts.settleCancelled(event);
    if (!own && !isResponse) for (const update of updates.event(event)) await client.send(update);
    await prompts.settleEnded(event, state);
    if (event.id >= newest && !isLive) {
      isLive = true;
      caughtUp.resolve();
    }
    requestApproval();
  }

  async function follow(): Promise<void> {
    if (isLive) {
      caughtUp.resolve();
      requestApproval();
    }
    // Whoever resumes a session knows its log, but not always the commands of its agent.
    for (const update of commands.splice(0)) await client.send(update);
    for await (const item of parley.events(id, { from: next, partials: true, signal })) {
      if (item.type === 'partial') {
        for (const update of updates.partial(item)) await client.send(update);
        continue;
      }
      await onEvent(item);
      next = item.id + 1;
    }
  }

  function fail(error: Error): void {
    caughtUp.reject(error);
    prompts.fail(error);
  }

  /** If the service refuses it, such as with a key that is no longer valid, the next prompt tries again. */
  function keepFollowing(): void {
    if (isFollowing) return;
    isFollowing = true;
    follow()
      .catch(fail)
      .finally(() => (isFollowing = false));
  }

  keepFollowing();
  caughtUp.promise.catch(() => {
    // Whoever loads the session sees the error.
  });

  async function send(prompt: Prompt, blocks: readonly ContentBlock[]): Promise<void> {
    for (const update of notes.splice(0)) await client.send(update);
    const sent = parley.conversations.message(id, toMessage(blocks, paths), { signal });
    sending.add(sent);
    try {
      const { event_id: event } = await sent;
      ownMessages.add(event);
      prompt.event = event;
    } finally {
      sending.delete(sent);
    }
  }

  return {
    id,
    replayed: caughtUp.promise,
    prompt: async (blocks) => {
      signal.throwIfAborted();
      const { prompt, response } = prompts.begin();
      keepFollowing();
      // The response is returned at once, because it may be rejected while the message is being sent.
      send(prompt, blocks).catch((error: Error) => prompt.settle(error));
      return response;
    },
    cancel: async () => {
      // Only messages that are in the log can be cancelled.
      await Promise.allSettled(sending);
      let isRepeated = false;
      await retryTemporary(async () => {
        // A repetition must not cancel a prompt that was sent later.
        if (!isRepeated || prompts.areWaiting()) await parley.conversations.cancel(id, { signal });
        isRepeated = true;
      }, signal);
    },
    close: () => {
      const error = new ParleyError('unexpected', 'The session was closed.');
      closing.abort(error);
      fail(error);
    },
  };
}
