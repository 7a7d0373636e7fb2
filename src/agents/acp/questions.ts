// What an agent asks leave for: each question waits for its answer, or is dropped.
import { isObject } from '../../text/foreignText.ts';
import { type Params, RpcError, rpcCodes } from './peer.ts';

const optionsMax = 20;

export interface PermissionOption {
  readonly optionId: string;
  readonly name: string;
  /** `allow_once`, `allow_always`, `reject_once` or `reject_always`; others may come. */
  readonly kind: string;
}

export interface PermissionRequest {
  /** The call as far as it is told here: members of the call that was announced before may be missing. */
  readonly toolCall: Params & { readonly toolCallId: string };
  readonly options: readonly PermissionOption[];
}

export type PermissionAnswer = { readonly optionId: string } | 'cancelled';

/** `signal` is aborted where the answer is no longer wanted. */
export type AnswerPermission = (request: PermissionRequest, signal: AbortSignal) => Promise<PermissionAnswer>;

function isOption(value: unknown): value is PermissionOption {
  return isObject(value) && ['optionId', 'name', 'kind'].every((member) => typeof value[member] === 'string');
}

/** Fields of the request itself are kept with the call, under a name that no agent uses, so that people see them. */
const ownFields = 'permission request';

function toRequest({ sessionId: _, toolCall, options, ...own }: Params): PermissionRequest {
  const known: unknown[] = Array.isArray(options) ? options.slice(0, optionsMax) : [];
  if (!isObject(toolCall) || typeof toolCall['toolCallId'] !== 'string' || !known.every(isOption))
    throw new RpcError(rpcCodes.invalidParams, 'This is not a permission request.');
  const call = toolCall as PermissionRequest['toolCall'];
  return {
    toolCall: Object.keys(own).length === 0 ? call : { ...call, [ownFields]: own },
    options: known,
  };
}

export function createQuestions(answerPermission: AnswerPermission) {
  const open = new Set<AbortController>();

  /** The answer as the protocol has it. */
  async function ask(params: Params): Promise<object> {
    const request = toRequest(params);
    const question = new AbortController();
    const dropped = Promise.withResolvers<'cancelled'>();
    question.signal.addEventListener('abort', () => dropped.resolve('cancelled'), { once: true });
    open.add(question);
    try {
      const answer = await Promise.race([answerPermission(request, question.signal), dropped.promise]);
      return { outcome: answer === 'cancelled' ? { outcome: answer } : { outcome: 'selected', ...answer } };
    } finally {
      open.delete(question);
    }
  }

  return {
    ask,
    /** Answers every open question with `cancelled`. */
    drop: () => {
      for (const question of open) question.abort();
    },
  };
}
