// Questions of an agent: allowed by the settings, or put to the user and answered from the log.
import type { Decision } from '../confirmations/schema.ts';
import { agentStateChanged, notice } from '../events/shapes.ts';
import type { EventMapper } from './acp/events.ts';
import { chooseAnswer, decide, highestRisk, type Policy, riskOf, toConfirmation } from './acp/permissions.ts';
import type { AnswerPermission, PermissionAnswer, PermissionRequest } from './acp/questions.ts';
import { commandIn, type Risk } from './acp/toolCall.ts';
import type { ActionGuard, AskedOutcome } from './actionGuard.ts';
import type { UserEvent } from './inbox.ts';
import type { Recorder } from './recorder.ts';

interface Pending {
  /** The event that asks. */
  readonly id: number;
  readonly resolve: (decision: Decision) => void;
}

interface ConfirmingOptions {
  /** As it is now. */
  readonly policy: () => Policy;
  readonly recorder: Recorder;
  readonly mapper: EventMapper;
  readonly guard: ActionGuard;
}

export interface Confirming {
  readonly onPermission: AnswerPermission;
  /** Takes an answer of the user. One to a question that no longer waits is passed over. */
  answer(event: UserEvent): void;
}

function unshown(fault: string): string {
  return `The agent asked for approval of something that cannot be shown in full: ${fault}. It was rejected.`;
}

/** What the agent was told, which is not all that the user said where it offers less. */
function outcomeOf(
  { options }: PermissionRequest,
  decision: Decision,
  answer: PermissionAnswer,
): AskedOutcome {
  if (decision === 'reject' || answer === 'cancelled') return 'refused';
  const chosen = options.find(({ optionId }) => optionId === answer.optionId);
  return decision === 'allow_always' && chosen?.kind === 'allow_always' ? 'allowed_always' : 'allowed';
}

export function createConfirming({ policy, recorder, mapper, guard }: ConfirmingOptions): Confirming {
  let pending: Pending | undefined;
  /** Where it was read before its question was known to be in the log, it is not lost. */
  let lastAnswer: UserEvent | undefined;
  /** One question at a time: the next is put when the last is answered. */
  let last: Promise<unknown> = Promise.resolve();

  /** Where a request says something else than the announcement, or than its own input, the higher risk counts. */
  function riskOfCall({ toolCall }: PermissionRequest): Risk {
    if (commandIn(toolCall['rawInput']) !== undefined) return 'high';
    const kinds = [toolCall['kind'], mapper.kindOf(toolCall.toolCallId)].filter((kind) => kind != null);
    return highestRisk(kinds.map(riskOf));
  }

  function give({ id, args }: UserEvent): void {
    if (pending === undefined || id <= pending.id) return;
    const rejected = args['agent_state'] === 'user_rejected';
    pending.resolve(rejected ? 'reject' : args['decision'] === 'allow_always' ? 'allow_always' : 'allow');
  }

  function waitForAnswer(id: number, signal: AbortSignal): Promise<Decision | undefined> {
    const { promise, resolve } = Promise.withResolvers<Decision | undefined>();
    pending = { id, resolve };
    if (lastAnswer !== undefined) give(lastAnswer);
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
    return promise.finally(() => (pending = undefined));
  }

  async function put(request: PermissionRequest, signal: AbortSignal): Promise<PermissionAnswer> {
    if (signal.aborted) return 'cancelled';
    const approval = mapper.approval(request.toolCall);
    if ('fault' in approval) {
      guard.answer(request.toolCall, 'refused', riskOfCall(request));
      await recorder.add([notice(unshown(approval.fault))]);
      return chooseAnswer(request, 'reject');
    }
    const asked = mapper.ask(request.toolCall, toConfirmation('ask', riskOfCall(request)));
    if (asked.length === 0) return 'cancelled';
    const events = [...asked, agentStateChanged('awaiting_user_confirmation')];
    const asks = asked.length - 1;
    const first = await recorder.step({ events, asks });
    if (first === undefined) return 'cancelled';
    const decision = await waitForAnswer(first + asks, signal);
    if (decision === undefined) {
      await recorder.step({ progress: { question: null } });
      return 'cancelled';
    }
    const state = decision === 'reject' ? 'user_rejected' : 'user_confirmed';
    const answer = chooseAnswer(request, decision);
    const outcome = outcomeOf(request, decision, answer);
    guard.answer(request.toolCall, outcome, riskOfCall(request));
    await recorder.step({
      events: [agentStateChanged(state), agentStateChanged('running')],
      ...(outcome === 'allowed_always'
        ? { progress: { always_allowed: JSON.stringify(guard.alwaysAllowed()) } }
        : {}),
    });
    return answer;
  }

  return {
    onPermission: async (request, signal) => {
      guard.ask(request.toolCall);
      const risk = riskOfCall(request);
      if (decide(policy(), risk) === 'allow') {
        guard.answer(request.toolCall, 'allowed', risk);
        await recorder.add(mapper.ask(request.toolCall, toConfirmation('allow', risk)));
        return chooseAnswer(request, 'allow');
      }
      const answered = last.then(() => put(request, signal));
      last = answered.catch(() => {});
      return answered;
    },
    answer: (event) => {
      lastAnswer = event;
      give(event);
    },
  };
}
