// Changes, starts, stops and deletes conversations, and sends messages to them.
import Type from 'typebox';
import { conversationTopic, userTopic, workTopic } from '../../db/topics.ts';
import type { Database } from '../../db/transaction.ts';
import { invalid } from '../../errors.ts';
import {
  agentChanged,
  agentStateChanged,
  confirmationChanged,
  eventText,
  loading,
  modelChanged,
  userMessage,
} from '../../events/shapes.ts';
import type { Principal } from '../../keys/principal.ts';
import type { Span } from '../../tracing/tracing.ts';
import { compileCheck } from '../../validation/validation.ts';
import type { Choices } from '../choice/service.ts';
import { findChoice } from '../choice/store.ts';
import type { Commands } from '../commands/service.ts';
import type { Confirmations } from '../confirm/service.ts';
import { unsentImages } from '../create/images.ts';
import type { ConversationResponse } from '../create/schema.ts';
import { answerStatus } from '../create/schema.ts';
import { tooManyWaiting } from '../create/waiting.ts';
import { type ConversationName, conversationName, noConversation } from '../id.ts';
import { checkIdempotencyKey, idempotencyKeyReused, idempotencyTtlMs } from '../idempotency/key.ts';
import type { IdempotencyClaim } from '../idempotency/store.ts';
import type { NewMarks } from '../marks.ts';
import { stopReason } from '../states.ts';
import { setTrace } from '../trace/store.ts';
import {
  type ChangeConversation,
  CommandArgs,
  MessageArgs,
  type NewMessage,
  StateArgs,
  type UserAction,
} from './schema.ts';
import {
  addMessageOnce,
  changeConversation,
  deleteConversation,
  startConversation,
  stopConversation,
} from './store.ts';
import type { Outcome } from './wake.ts';

export type Lifecycle = ReturnType<typeof createLifecycle>;

const messageFault = compileCheck(Type.Object({ args: MessageArgs }));
const commandFault = compileCheck(Type.Object({ args: CommandArgs }));
const stateFault = compileCheck(Type.Object({ args: StateArgs }));

const argsFaults = { message: messageFault, run: commandFault, change_agent_state: stateFault } as const;

function marksOfChange({ pinned, archived, seen_event_id: seen }: ChangeConversation): { marks?: NewMarks } {
  if (pinned === undefined && archived === undefined && seen === undefined) return {};
  return {
    marks: {
      ...(pinned === undefined ? {} : { pinned }),
      ...(archived === undefined ? {} : { archived }),
      ...(seen === undefined ? {} : { seenEventId: seen }),
    },
  };
}

interface SayContext {
  readonly idempotencyKey?: string | undefined;
  /** The name of the text in errors. */
  readonly path?: string;
  /** The span of the request, if traces are recorded. */
  readonly span?: Span | undefined;
}

interface WakeContext extends Pick<SayContext, 'span'> {
  readonly once?: { readonly idempotency: IdempotencyClaim; readonly fingerprint: string };
}

interface LifecycleOptions {
  readonly database: Database;
  readonly confirmations: Confirmations;
  readonly commands: Commands;
  readonly choices: Choices;
  /** A keyed digest, see the vault. */
  readonly fingerprint: (text: string) => string;
  /** How many conversations of a user may wait for a worker; 0 means no limit. */
  readonly waitingMax: number;
  readonly clock?: () => number;
}

export function createLifecycle({
  database,
  confirmations,
  commands,
  choices,
  fingerprint,
  waitingMax,
  clock = Date.now,
}: LifecycleOptions) {
  const now = () => new Date(clock()).toISOString();

  function notifyChange(userId: number, key: number): void {
    database.notify([conversationTopic(key), userTopic(userId), workTopic]);
  }

  function settle({ userId }: Principal, outcome: Outcome | undefined): Outcome {
    if (outcome === undefined) throw noConversation();
    if (outcome.changed) notifyChange(userId, outcome.key);
    return outcome;
  }

  /** No agent can pause a turn, so pausing a conversation stops it. Only the log differs. */
  async function stop(
    principal: Principal,
    id: string,
    state: 'stopped' | 'paused' = 'stopped',
  ): Promise<ConversationResponse> {
    const at = now();
    const reason = stopReason('user');
    const events = [eventText(agentStateChanged(state, reason.message), at)];
    const outcome = await database.run(stopConversation, {
      ...conversationName(principal, id),
      reason,
      events,
      at,
    });
    return answerStatus(id, settle(principal, outcome).status);
  }

  async function wake(
    principal: Principal,
    id: string,
    message: readonly string[],
    at: string,
    { span, once }: WakeContext = {},
  ) {
    if (span !== undefined)
      await database.run(setTrace, { ...conversationName(principal, id), traceparent: span.traceparent });
    const waking = [eventText(loading, at)];
    const input = { ...conversationName(principal, id), message, waking, waitingMax, at };
    const outcome = await (once === undefined
      ? database.run(startConversation, input)
      : database.run(addMessageOnce, { ...input, ...once }));
    if (outcome === 'too_many') throw tooManyWaiting(waitingMax);
    if (outcome === 'key_reused') throw idempotencyKeyReused();
    if (outcome === undefined) throw noConversation();
    settle(principal, outcome);
    return outcome;
  }

  async function start(principal: Principal, id: string, span?: Span): Promise<ConversationResponse> {
    return answerStatus(id, (await wake(principal, id, [], now(), { span })).status);
  }

  /** Adds a message of the user and returns its event id. A stopped conversation is resumed. */
  async function say(
    principal: Principal,
    id: string,
    { message, image_urls, file_urls }: NewMessage,
    { idempotencyKey, path = 'message', span }: SayContext = {},
  ): Promise<number> {
    if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey);
    const images = image_urls ?? [];
    const files = file_urls ?? [];
    if (message.trim() === '' && images.length + files.length === 0)
      throw invalid([{ path, message: 'must not be empty if there is no image or file' }]);
    const at = now();
    const events = [userMessage(message, images, files), ...unsentImages(images)];
    const texts = events.map((event) => eventText(event, at));
    // Creations are fingerprinted as objects, so no message equals one.
    const once = idempotencyKey !== undefined && {
      idempotency: { keyHash: fingerprint(idempotencyKey), ttlMs: idempotencyTtlMs },
      fingerprint: fingerprint(JSON.stringify(['message', id, message, images, files])),
    };
    return (await wake(principal, id, texts, at, { span, ...(once && { once }) })).eventId;
  }

  /** Handles what older clients send as an event. */
  async function act(
    principal: Principal,
    id: string,
    { action, args }: UserAction,
    span?: Span,
  ): Promise<void> {
    const fault = argsFaults[action]({ args });
    if (fault !== undefined) throw fault;
    if (action === 'message') {
      const { content, image_urls = null, file_urls = null } = args as MessageArgs;
      await say(principal, id, { message: content, image_urls, file_urls }, { path: 'args.content', span });
      return;
    }
    if (action === 'run') return commands.send(principal, id, (args as CommandArgs).command);
    const { agent_state: wanted } = args as StateArgs;
    if (wanted === 'user_confirmed' || wanted === 'user_rejected')
      return confirmations.answer(principal, id, {
        decision: wanted === 'user_confirmed' ? 'allow' : 'reject',
      });
    await (wanted === 'running' ? start(principal, id, span) : stop(principal, id, wanted));
  }

  /** Resolves and checks the agent and the model of a change. Absent fields stay absent. */
  async function choose(
    name: ConversationName,
    { agent, llm_model: model }: ChangeConversation,
  ): Promise<{ agent?: string; llmModel?: string | null }> {
    if (agent === undefined && model === undefined) return {};
    const { userId } = name;
    const stored = await database.run(findChoice, name);
    if (stored === undefined) throw noConversation();
    const chosen = {
      ...(agent === undefined
        ? {}
        : { agent: agent ? choices.agentId(agent) : await choices.agentOfSettings(userId) }),
      ...(model === undefined ? {} : { llmModel: model || null }),
    };
    const { agent: nextAgent = stored.agent, llmModel: nextModel = stored.llm_model } = chosen;
    const fault = await choices.findFault(userId, {
      // An agent that was chosen earlier may be gone, which is reported when it should start.
      agent: chosen.agent ?? (nextAgent !== null && choices.isKnown(nextAgent) ? nextAgent : null),
      llm_model: nextModel,
    });
    if (fault !== undefined) throw fault;
    return chosen;
  }

  /** Changes the title, the marks, the agent, the model and the approval mode at once. The run of the conversation applies them to its next turn. */
  async function change(principal: Principal, id: string, sent: ChangeConversation): Promise<void> {
    const name = conversationName(principal, id);
    const { agent, llmModel } = await choose(name, sent);
    const { confirmation_mode: mode } = sent;
    const at = now();
    const key = await database.run(changeConversation, {
      ...name,
      ...(sent.title === undefined ? {} : { title: sent.title.trim() }),
      ...marksOfChange(sent),
      ...(agent === undefined ? {} : { agent: { value: agent, event: eventText(agentChanged(agent), at) } }),
      ...(llmModel === undefined
        ? {}
        : { llmModel: { value: llmModel, event: eventText(modelChanged(llmModel), at) } }),
      ...(mode === undefined
        ? {}
        : { confirmationMode: { value: mode, event: eventText(confirmationChanged(mode), at) } }),
      at,
    });
    if (key === undefined) throw noConversation();
    database.notify([conversationTopic(key), userTopic(principal.userId)]);
  }

  /** Returns whether it existed. */
  async function remove(principal: Principal, id: string): Promise<boolean> {
    const key = await database.run(deleteConversation, { ...conversationName(principal, id), at: now() });
    if (key !== undefined) notifyChange(principal.userId, key);
    return key !== undefined;
  }

  return { stop, start, say, act, change, remove };
}
