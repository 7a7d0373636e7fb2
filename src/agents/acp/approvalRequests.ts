// The open approval requests of an agent. Each waits for its answer or is cancelled.
import { isObject } from '../../text/foreignText.ts';
import { type Params, RpcError, rpcCodes } from './peer.ts';

const optionsMax = 20;

export interface PermissionOption {
  readonly optionId: string;
  readonly name: string;
  /** `allow_once`, `allow_always`, `reject_once`, `reject_always`, or one that is not known yet. */
  readonly kind: string;
}

export interface PermissionRequest {
  /** The call in the request. Fields that were announced before may be missing. */
  readonly toolCall: Params & { readonly toolCallId: string };
  readonly options: readonly PermissionOption[];
}

export type PermissionAnswer = { readonly optionId: string } | 'cancelled';

/** `signal` is aborted when the answer is no longer needed. */
export type AnswerPermission = (request: PermissionRequest, signal: AbortSignal) => Promise<PermissionAnswer>;

function isOption(value: unknown): value is PermissionOption {
  return isObject(value) && ['optionId', 'name', 'kind'].every((field) => typeof value[field] === 'string');
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

export function createApprovalRequests(answerPermission: AnswerPermission) {
  const open = new Set<AbortController>();
  /** The turn was cancelled, and the agent has not ended it yet. */
  let isCancelling = false;

  /** Returns the answer in the form of the protocol. */
  async function request(params: Params): Promise<object> {
    const request = toRequest(params);
    if (isCancelling) return { outcome: { outcome: 'cancelled' } };
    const approvalRequest = new AbortController();
    const dropped = Promise.withResolvers<'cancelled'>();
    approvalRequest.signal.addEventListener('abort', () => dropped.resolve('cancelled'), { once: true });
    open.add(approvalRequest);
    try {
      const answer = await Promise.race([answerPermission(request, approvalRequest.signal), dropped.promise]);
      return { outcome: answer === 'cancelled' ? { outcome: answer } : { outcome: 'selected', ...answer } };
    } finally {
      open.delete(approvalRequest);
    }
  }

  return {
    request,
    /** A new turn may ask again. */
    beginTurn: () => {
      isCancelling = false;
    },
    /** Answers every open request with `cancelled`, and further ones until the next turn. */
    cancelAll: () => {
      isCancelling = true;
      for (const request of open) request.abort();
    },
  };
}
