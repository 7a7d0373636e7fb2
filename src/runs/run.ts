// One run of a conversation: it opens the environment, starts the agent, opens its session, sets RUNNING, and then runs
// turn after turn.

import { AgentError } from '../agents/acp/errors.ts';
import { createEventMapper } from '../agents/acp/events.ts';
import { decide } from '../agents/acp/permissions.ts';
import type { RecordedTurn } from '../agents/acp/recordedTurns.ts';
import type { LiveSpeech } from '../agents/acp/speech.ts';
import type { SessionUpdate } from '../agents/acp/update.ts';
import { findProfile } from '../agents/profiles.ts';
import type { ClaimedConversation } from '../conversations/run/claimStore.ts';
import type { Database } from '../db/transaction.ts';
import { agentStateChanged, approvalRequestExpired, cancelled, notice } from '../events/shapes.ts';
import type { NewEvent } from '../events/vocabulary/vocabulary.ts';
import type { RunModel } from '../gateway/runGateway.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { RunSnapshots } from '../workspaces/snapshots/runSnapshots.ts';
import type { StoredSnapshot } from '../workspaces/snapshots/service.ts';
import { type ActionGuard, createActionGuard } from './approvals/actionGuard.ts';
import { createApprovals } from './approvals/approvals.ts';
import { createPolicies } from './approvals/policies.ts';
import { createAttachments } from './attachments.ts';
import type { ClaimedRun, RunAgent } from './claimedRun.ts';
import type { RunInputs } from './inputs.ts';
import { filesRecord, hadRemoteFiles } from './keptFiles.ts';
import { createMasking, type Masking } from './masking.ts';
import { isCancellation } from './prompts/inbox.ts';
import { instructionsOf } from './prompts/instructions.ts';
import { type Cancellation, createMessages } from './prompts/messages.ts';
import { createPrompts, type FetchImage } from './prompts/prompts.ts';
import { createRecorder } from './recorder.ts';
import type { RunContext, RunDependencies } from './runContext.ts';
import { endEvents, NextRun, RunEnd } from './runEnd.ts';
import { openRunEnvironment, type RunEnvironment } from './runEnvironment.ts';
import { createRunFaults } from './runFaults.ts';
import { openRunSession, startAgent } from './runSession.ts';
import { beginRunSnapshots } from './runSnapshots.ts';
import { createRunTrace } from './runTrace.ts';
import { createTitles } from './titles.ts';
import { agentEnd, runTurns } from './turns.ts';
import { createUserCommands } from './userCommands.ts';

/** How many runs may claim a conversation one after another without progress. */
const claimsMax = 5;
/** How long an agent that its user stopped may take to clean up. */
const cancelGraceMs = 1_000;

export interface AgentDependencies extends RunDependencies {
  readonly database: Database;
  readonly loadInputs: (conversation: ClaimedConversation) => Promise<RunInputs>;
  readonly fetchImage: FetchImage;
  /** The timeout of each answer of an agent until its session is open. */
  readonly initializeMs: number;
  /** How long an agent may take to end a turn that its user cancelled. Then it is started again. */
  readonly cancelMs: number;
  /** Replaces sandboxes and workspaces, and the programs in them, in a simulation. */
  readonly openEnvironment?: typeof openRunEnvironment;
  readonly startAgent?: typeof startAgent;
  readonly tracing?: Tracing | undefined;
  readonly onBackgroundError: (error: Error) => void;
}

/** Events mask their fields, so the ids of their partials must be masked as well. */
function liveSpeech({ runId, texts, masking }: RunContext): LiveSpeech {
  let count = 0;
  return { texts, nextId: () => masking.text(`${runId}-${++count}`) };
}

/** A session belongs to the agent that opened it. */
function sessionText({ agent, sessionId }: { agent: string; sessionId: string }): string {
  return `${agent} ${sessionId}`;
}

function sessionOfAgent(
  { agent_session: stored }: ClaimedConversation,
  { agent }: RunEnvironment,
): string | null {
  const [id = '', ...rest] = (stored ?? '').split(' ');
  return id === agent.profile.id && rest.length > 0 ? rest.join(' ') : null;
}

/** The first events of a run that continues what another run left. */
function eventsFromPreviousRun(
  conversation: ClaimedConversation,
  nodeId: string,
  snapshot: StoredSnapshot | undefined,
): NewEvent[] {
  const { question, workspace_node: node } = conversation;
  return [
    ...(question === null ? [] : [approvalRequestExpired]),
    ...(node === null || node === nodeId || snapshot !== undefined || hadRemoteFiles(conversation)
      ? []
      : [notice('The conversation continues on another machine: changes that were not pushed are lost.')]),
  ];
}

/** Records a turn and messages that the user cancelled before this run listened. */
function cancelledBeforeRun(cancellation: Cancellation | undefined, turn: boolean): NewEvent[] {
  if (cancellation === undefined || !(turn || cancellation.dropped)) return [];
  return [cancelled(cancellation.id, { turn, messages: cancellation.dropped })];
}

/** What the user has always allowed one agent does not hold for another. */
function alwaysAllowedOf(conversation: ClaimedConversation, environment: RunEnvironment): string[] {
  const { always_allowed: stored } = conversation;
  const isSame = sessionOfAgent(conversation, environment) !== null;
  return stored === null || !isSame ? [] : (JSON.parse(stored) as string[]);
}

/** Throws if the agent has acted without approval, which ends it. */
function guardUpdate(guard: ActionGuard, update: SessionUpdate): void {
  const { sessionUpdate: kind } = update;
  if (kind !== 'tool_call' && kind !== 'tool_call_update') return;
  const end = guard.take(update);
  if (end !== undefined) throw end;
}

/** Whether the agent has the messages of the interrupted turn; undefined if it does not record turns. */
function hasTurn(noted: RecordedTurn, { heard }: ClaimedConversation): boolean | undefined {
  return noted === undefined ? undefined : noted === heard;
}

/** Before a turn that another agent should take, ends this run: the next one starts that agent with the same messages. */
async function refuseOtherAgent(
  { profiles, onBackgroundError }: AgentDependencies,
  { inputs }: RunContext,
  { agent }: RunEnvironment,
): Promise<void> {
  const wanted = await inputs.readAgent().catch((error: Error) => {
    // The agent of the last turn is better than none.
    onBackgroundError(error);
    return agent.profile.id;
  });
  if (findProfile(profiles, wanted)?.id !== agent.profile.id) throw new NextRun();
}

/** A session is in the home, and can be resumed if it lacks nothing but the turn that is open. */
function sessionToResume(
  { nodeId }: AgentDependencies,
  { conversation }: RunContext,
  environment: RunEnvironment,
): string | null {
  const { restored, isKept = false, isNew = false } = environment;
  const { workspace_node: node, turn_from: from, heard } = conversation;
  if (restored === undefined)
    return isKept || (node === nodeId && !isNew) ? sessionOfAgent(conversation, environment) : null;
  if (restored.heard < (from ?? heard)) return null;
  return sessionOfAgent(conversation, environment);
}

async function converse(
  dependencies: AgentDependencies,
  context: RunContext,
  environment: RunEnvironment,
  listen: ClaimedRun['listen'],
  snapshots: RunSnapshots | undefined,
) {
  const { database, nodeId, fetchImage, initializeMs, clock } = dependencies;
  const { conversation, inputs, recorder, signal, trace } = context;
  const { watch } = context.faults;
  const policies = createPolicies({ inputs, confirmAlways: environment.confirmAlways });
  const mode = policies.now().confirmationMode || environment.confirmAlways ? 'ask' : 'auto';
  const serverNames: string[] = [];
  const mapper = createEventMapper({
    mask: context.masking.text,
    maskStream: context.masking.stream,
    live: liveSpeech(context),
    mcpServers: serverNames,
    output: environment.agent.profile.output,
    needsApproval: () => decide(policies.now(), 'high') === 'ask',
  });
  const always = alwaysAllowedOf(conversation, environment);
  const guard = createActionGuard({
    policy: policies.now,
    always,
    onUnapproved: (end) => agent.end(end),
    clock,
  });
  context.signal.addEventListener('abort', guard.close, { once: true });
  const mask = context.masking.text;
  const confirming = createApprovals({
    policy: policies.now,
    recorder,
    mapper,
    guard,
    onAsked: (eventId, message) =>
      dependencies.notifier?.notify({ conversationId: conversation.id, eventId, message: mask(message) }),
    clock,
  });
  const { onBackgroundError: onError } = dependencies;
  const titles = createTitles({ database, conversation, runId: context.runId, mask, onError, clock });
  await recorder.step({ runtimeStatus: 'STATUS$STARTING_AGENT' });
  const start = dependencies.startAgent ?? startAgent;
  const agentNeeds: Parameters<typeof startAgent>[0] = {
    environment,
    inputs,
    mode,
    isNewHome: conversation.agent_session === null,
    initializeMs,
    onUpdate: async (update) => {
      titles.addUpdate(update);
      trace.onUpdate(update);
      await recorder.add(mapper.take(update));
      guardUpdate(guard, update);
    },
    onOtherUpdate: (update) => guardUpdate(guard, update),
    onPermission: confirming.onPermission,
    onNotice: (sentence) => watch(() => recorder.add([notice(sentence)])),
  };
  const agent = await trace.part('start agent', () => start(agentNeeds));
  // Not on a takeover: the next run must not find that the user had stopped it.
  const cancelOnStop = () => signal.reason === 'stop' && watch(agent.cancel);
  signal.addEventListener('abort', cancelOnStop, { once: true });

  const resume = sessionToResume(dependencies, context, environment);
  const session = await trace.part('open session', () =>
    openRunSession(agent, { environment, inputs, mode, resume }),
  );
  serverNames.push(...session.serverNames);
  const messages = createMessages();
  const commands = createUserCommands({
    sandbox: environment.sandbox,
    variables: environment.variables,
    recorder,
    masking: context.masking,
    texts: context.texts,
    watch,
    signal,
    from: conversation.next_event,
    onEnded: () => snapshots?.filesChanged(),
  });
  await listen((event) => {
    if (event.type === 'action.run') return commands.add(event);
    if (event.type === 'action.message') {
      titles.addMessage(event);
      return messages.add(event);
    }
    confirming.answer(event);
    if (isCancellation(event)) messages.cancel(event.id);
  });
  // A turn counts as ended even if only the first part of its end was recorded.
  const wasOpen = conversation.turn_open === 1 && conversation.turn_from !== null;
  const cancellation = messages.takeCancellation();
  const volume = filesRecord(nodeId, environment.sandbox);
  const isOpen = wasOpen && cancellation === undefined;
  const idle = !isOpen && messages.isEmpty();
  await recorder.step({
    to: 'RUNNING',
    events: [
      ...session.notices.map((sentence) => notice(sentence)),
      ...cancelledBeforeRun(cancellation, wasOpen),
      ...(idle ? [agentStateChanged('awaiting_user_input')] : []),
    ],
    progress: {
      agent: environment.agent.profile.id,
      agent_session: sessionText({ agent: environment.agent.profile.id, sessionId: session.sessionId }),
      workspace_node: nodeId,
      ...(volume === conversation.workspace_volume ? {} : { workspace_volume: volume }),
      ...(session.how === 'new' ? { session_from: conversation.next_event } : {}),
      ...(conversation.always_allowed === null ? {} : { always_allowed: JSON.stringify(always) }),
      ...(conversation.turn_open === 1 && !isOpen ? { turn_open: 0 } : {}),
      ...(cancellation?.dropped ? { heard: cancellation.id + 1 } : {}),
    },
    waitsForAnswer: conversation.turn_open === 1 && !wasOpen && cancellation === undefined,
  });
  trace.started(environment.agent.profile.id);
  const { key, user_id: userId, id } = conversation;
  const attachments = createAttachments({
    target: { key, userId, id },
    workspace: environment.sandbox.paths.workspace,
    deliverUploads: dependencies.deliverUploads,
    add: recorder.add,
    onError,
  });
  await attachments.deliver();
  const hasLast = hasTurn(session.recordedTurn, conversation);
  const { toBlocks, continueTurn, onPrompt } = createPrompts({
    database,
    conversation: { ...conversation, turn_open: isOpen ? 1 : 0 },
    cancelledBelow: cancellation === undefined ? 0 : cancellation.id + 1,
    preamble: environment.agent.profile.instructions === undefined ? instructionsOf(inputs) : '',
    session: { isNew: session.how === 'new', hasTurn: hasLast },
    capabilities: agent.capabilities.promptCapabilities,
    fetchImage,
    pathOf: attachments.pathOf,
    signal,
  });
  const first = isOpen ? await continueTurn() : undefined;
  const { limits, beginTurn, endTurn } = environment;
  limits.onMet(() => watch(agent.cancel));
  await runTurns({
    agent,
    messages,
    recorder,
    mapper,
    signal,
    clock,
    cancelMs: dependencies.cancelMs,
    watch,
    continuation: first,
    heard: conversation.heard,
    turnFrom: (hasLast && !isOpen ? null : conversation.turn_from) ?? conversation.heard,
    toBlocks: async (given) => {
      await attachments.deliver();
      return toBlocks(given);
    },
    onPrompt,
    onTurnEnd: (known) => snapshots?.endTurn(known),
    beginTurn: async () => {
      await snapshots?.beginTurn();
      await refuseOtherAgent(dependencies, context, environment);
      await policies.refresh().catch(onError);
      await inputs.readHidden().then((values) => context.masking.hide(...values), onError);
      // The built-in agent always asks. Others are told when they start whether they have to.
      const isTold = mode === 'ask' || environment.agent.profile.id === 'builtin';
      if (policies.now().confirmationMode && !isTold) throw new NextRun();
      await trace.beginTurn(environment.agent.profile.id);
      await beginTurn();
    },
    endTurn: () => {
      trace.endTurn();
      endTurn();
    },
  });
}

function toRunEnd(error: unknown): RunEnd | undefined {
  if (error instanceof RunEnd) return error;
  return error instanceof AgentError ? agentEnd(error) : undefined;
}

/** Stops the conversation with the reason. Other errors are rethrown. */
async function recordEnd(recorder: RunContext['recorder'], error: unknown): Promise<void> {
  const end = toRunEnd(error);
  if (end === undefined) throw error;
  const { reason, details } = end;
  await recorder.step({ to: 'STOPPED', reason, events: endEvents(reason, details) });
}

/** Closes the environment when the run must end: at once, or after a moment if its user stopped it. */
function closeOnAbort(
  { clock, onBackgroundError }: AgentDependencies,
  environment: RunEnvironment,
  signal: AbortSignal,
): void {
  const closeNow = () => void environment.close().catch(onBackgroundError);
  const close = () => clock.after(signal.reason === 'stop' ? cancelGraceMs : 0, closeNow);
  if (signal.aborted) close();
  else signal.addEventListener('abort', close, { once: true });
}

/** A turn may use another key than the one before it. */
async function loadMasked({ loadModel }: RunInputs, masking: Masking): Promise<RunModel> {
  const model = await loadModel();
  if (model.key !== undefined) masking.hide(model.key);
  return model;
}

export function createRunAgent(dependencies: AgentDependencies): RunAgent {
  return async ({ runId, conversation, signal, isHeld, record, listen }) => {
    const loaded = await dependencies.loadInputs(conversation);
    const masking = createMasking(loaded.hidden);
    const inputs = { ...loaded, loadModel: () => loadMasked(loaded, masking) };
    const faults = createRunFaults();
    let environment: RunEnvironment | undefined;
    const metrics = () => environment?.metrics();
    const { clock } = dependencies;
    const recorder = createRecorder({ record, masking, metrics, clock, watch: faults.watch });
    const live = dependencies.livePartials.begin(conversation.key, runId, recorder.recordPending);
    // What a run writes after it has lost its conversation is not shown.
    signal.addEventListener('abort', () => signal.reason === 'lost' && live.end(), { once: true });
    const { texts } = live;
    const trace = createRunTrace({
      tracing: dependencies.tracing,
      database: dependencies.database,
      conversation,
      runId,
      onError: dependencies.onBackgroundError,
    });
    const snapshot =
      loaded.localFolder === undefined ? await dependencies.snapshots?.find(conversation.key) : undefined;
    let snapshots: RunSnapshots | undefined;
    const context: RunContext = {
      runId,
      conversation,
      inputs,
      recorder,
      masking,
      texts,
      faults,
      signal,
      isHeld,
      trace,
      snapshot,
    };
    try {
      if (conversation.claims > claimsMax)
        throw new RunEnd(
          'agent_error',
          `It was begun ${claimsMax} times, and each time its worker was lost.`,
        );
      await recorder.step({
        runtimeStatus: 'STATUS$STARTING_RUNTIME',
        events: eventsFromPreviousRun(conversation, dependencies.nodeId, snapshot),
        progress: { question: null },
      });
      environment = await (dependencies.openEnvironment ?? openRunEnvironment)(dependencies, context);
      closeOnAbort(dependencies, environment, signal);
      snapshots = beginRunSnapshots(dependencies, context);
      await Promise.race([
        converse(dependencies, context, environment, listen, snapshots),
        environment.full,
        environment.limits.overdue,
        faults.first,
      ]);
    } catch (error) {
      // If the run was stopped, lost or handed over, the end of its agent is not an error.
      if (signal.aborted) return;
      trace.end(error instanceof NextRun ? undefined : error);
      // Records what is queued. The conversation stays RUNNING and is claimed again at once.
      if (error instanceof NextRun)
        await recorder.step({ events: error.message === '' ? [] : [notice(error.message)] });
      else await recordEnd(recorder, error);
    } finally {
      await environment?.close();
      trace.end();
      live.end();
      await snapshots?.finish();
      await environment?.release?.();
    }
  };
}
