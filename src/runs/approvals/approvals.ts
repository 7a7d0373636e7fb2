// Handles approval requests of an agent: the settings allow them, or the user answers them through the log.
import type {
  AnswerPermission,
  PermissionAnswer,
  PermissionRequest,
} from '../../agents/acp/approvalRequests.ts';
import type { Risk } from '../../agents/acp/callEvents.ts';
import type { EventMapper } from '../../agents/acp/events.ts';
import {
  canAllowOnce,
  chooseAnswer,
  decide,
  highestRisk,
  type Policy,
  riskOf,
  toConfirmation,
} from '../../agents/acp/permissions.ts';
import type { Decision } from '../../events/decoder/words.ts';
import { agentStateChanged, notice } from '../../events/shapes.ts';
import { type Clock, systemClock } from '../../process/clock.ts';
import type { UserAnswer } from '../prompts/inbox.ts';
import type { Recorder } from '../recorder.ts';
import type { ActionGuard, ApprovalOutcome } from './actionGuard.ts';

interface Pending {
  /** The id of the event that asks. */
  readonly id: number;
  readonly resolve: (answer: Answer) => void;
}

/** `cancelled`: the user has cancelled the turn. */
type Answer = Decision | 'cancelled';

interface ApprovalsOptions {
  /** Returns the current policy. */
  readonly policy: () => Policy;
  readonly recorder: Recorder;
  readonly mapper: EventMapper;
  readonly guard: ActionGuard;
  /** Called when a request is in the log and waits for the user. Must return at once. */
  readonly onAsked?: (eventId: number, message: string) => void;
  readonly clock?: Clock;
}

export interface Approvals {
  readonly onPermission: AnswerPermission;
  /** Handles an answer or a cancellation of the user, and ignores it if the request is no longer open. */
  answer(event: UserAnswer): void;
}

/** How long a request waits for the agent to describe the call. */
const describeMs = 1_000;
const describeStepMs = 50;
const askTimesMax = 3;

const changed =
  'The agent has changed its description of this action since it asked, so your answer does not count. It asks again.';

const onlyForGood =
  'The agent asked for approval and offers no way to allow the action only once. It was rejected, because an approval would have allowed more than this action.';

function unshown(fault: string): string {
  return `The agent asked for approval of something that cannot be shown in full: ${fault}. It was rejected.`;
}

/** What the agent was answered. It may be less than the user said if the agent does not offer that option. */
function outcomeOf(
  { options }: PermissionRequest,
  decision: Decision,
  answer: PermissionAnswer,
): ApprovalOutcome {
  if (decision === 'reject' || answer === 'cancelled') return 'refused';
  const chosen = options.find(({ optionId }) => optionId === answer.optionId);
  return decision === 'allow_always' && chosen?.kind === 'allow_always' ? 'allowed_always' : 'allowed';
}

function answerOf({ args }: UserAnswer): Answer {
  if (args.agent_state === 'awaiting_user_input') return 'cancelled';
  return args.agent_state === 'user_rejected' ? 'reject' : (args.decision ?? 'reject');
}

export function createApprovals(options: ApprovalsOptions): Approvals {
  const { policy, recorder, mapper, guard, onAsked, clock = systemClock } = options;
  let pending: Pending | undefined;
  /** Kept because an answer may arrive before its request is known to be in the log. */
  let lastAnswer: UserAnswer | undefined;
  /** Requests are asked one at a time. */
  let last: Promise<unknown> = Promise.resolve();

  /** Uses the highest risk if the request, the announced call and what the call carries disagree. */
  function riskOfCall({ toolCall }: PermissionRequest): Risk {
    const kinds = [toolCall['kind'], mapper.kindOf(toolCall.toolCallId), guard.kindOf(toolCall)];
    return highestRisk(kinds.filter((kind) => kind != null).map(riskOf));
  }

  function resolvePending(event: UserAnswer): void {
    if (pending !== undefined && event.id > pending.id) pending.resolve(answerOf(event));
  }

  function waitForAnswer(id: number, signal: AbortSignal): Promise<Answer | undefined> {
    const { promise, resolve } = Promise.withResolvers<Answer | undefined>();
    pending = { id, resolve };
    if (lastAnswer !== undefined) resolvePending(lastAnswer);
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
    return promise.finally(() => (pending = undefined));
  }

  /** Some agents send the request first and describe the call right after it. */
  async function waitForDescription({ toolCall }: PermissionRequest, signal: AbortSignal): Promise<void> {
    for (
      let ms = 0;
      ms < describeMs && !mapper.isDescribed(toolCall) && !signal.aborted;
      ms += describeStepMs
    )
      await clock.pause(describeStepMs, signal);
  }

  async function refuse(request: PermissionRequest, why: string): Promise<PermissionAnswer> {
    guard.requestAnswered(request.toolCall, 'refused', riskOfCall(request));
    await recorder.add([notice(why)]);
    return chooseAnswer(request, 'reject');
  }

  async function accept(request: PermissionRequest, decision: Decision): Promise<PermissionAnswer> {
    const state = decision === 'reject' ? 'user_rejected' : 'user_confirmed';
    const answer = chooseAnswer(request, decision);
    const outcome = outcomeOf(request, decision, answer);
    guard.requestAnswered(request.toolCall, outcome, riskOfCall(request));
    const rejected = decision === 'reject' ? mapper.reject(request.toolCall) : [];
    const recorded = await recorder.step({
      events: [agentStateChanged(state), ...rejected, agentStateChanged('running')],
      ...(outcome === 'allowed_always'
        ? { progress: { always_allowed: JSON.stringify(guard.alwaysAllowed()) } }
        : {}),
    });
    // If the conversation was stopped meanwhile, the action still gets its result with the last events of the run.
    if (recorded === undefined) await recorder.add(rejected);
    return answer;
  }

  /** Asks the user. If the agent has changed the description meanwhile, the answer does not count and it asks again. */
  async function askUser(request: PermissionRequest, signal: AbortSignal): Promise<PermissionAnswer> {
    const { toolCall } = request;
    if (!canAllowOnce(request)) return refuse(request, onlyForGood);
    await waitForDescription(request, signal);
    for (let times = 0; times < askTimesMax; times++) {
      if (signal.aborted) return 'cancelled';
      const approval = mapper.approval(toolCall);
      if ('fault' in approval) return refuse(request, unshown(approval.fault));
      const asked = mapper.announceCall(toolCall, toConfirmation('ask', riskOfCall(request)));
      const shown = mapper.descriptionOf(toolCall.toolCallId);
      // Existing clients offer buttons only for an action that comes after the state.
      const waits = agentStateChanged('awaiting_user_confirmation');
      const events = [...asked.slice(0, -1), waits, ...asked.slice(-1)];
      const asks = events.length - 1;
      const first = await recorder.step({ events, approvalRequestIndex: asks });
      if (first === undefined) return 'cancelled';
      onAsked?.(first + asks, events.at(-1)?.message ?? '');
      const decision = await waitForAnswer(first + asks, signal);
      if (decision === undefined) {
        await recorder.step({ progress: { question: null } });
        return 'cancelled';
      }
      if (decision === 'cancelled') {
        await accept(request, 'reject');
        return 'cancelled';
      }
      const isStale = shown !== mapper.descriptionOf(toolCall.toolCallId);
      if (decision === 'reject' || !isStale) return accept(request, decision);
      await recorder.step({ events: [agentStateChanged('user_confirmed'), notice(changed)] });
    }
    return refuse(request, unshown('the agent keeps changing its description'));
  }

  return {
    onPermission: async (request, signal) => {
      guard.requestOpened(request.toolCall);
      const risk = riskOfCall(request);
      if (decide(policy(), risk) === 'allow') {
        guard.requestAnswered(request.toolCall, 'allowed', risk);
        await recorder.add(mapper.announceCall(request.toolCall, toConfirmation('allow', risk)));
        return chooseAnswer(request, 'allow_by_settings');
      }
      const answered = last.then(() => askUser(request, signal));
      last = answered.catch(() => {});
      return answered;
    },
    answer: (event) => {
      lastAnswer = event;
      resolvePending(event);
    },
  };
}
