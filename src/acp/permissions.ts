// Approval requests of a conversation as permission requests of ACP.
import {
  type AgentContext,
  methods,
  type PermissionOption,
  type RequestPermissionRequest,
} from '@agentclientprotocol/sdk';
import type { Decision, ParleyEvent } from '../client/parley.ts';
import type { Paths } from './clientFolders.ts';
import { plainValues } from './plainValues.ts';
import { isToolAction, toToolCall } from './toolCalls.ts';

const options: readonly (PermissionOption & { readonly optionId: Decision })[] = [
  { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
  { optionId: 'allow_always', name: 'Always allow', kind: 'allow_always' },
  { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
];

interface PermissionOptions {
  readonly context: AgentContext;
  readonly sessionId: string;
  readonly paths: Paths;
  /** Withdraws the request. */
  readonly signal: AbortSignal;
}

/** Returns undefined if the client did not decide. */
export async function requestPermission(
  question: ParleyEvent,
  { context, sessionId, paths, signal }: PermissionOptions,
): Promise<Decision | undefined> {
  if (!isToolAction(question)) return undefined;
  const toolCall = plainValues(toToolCall(question, paths));
  const request: RequestPermissionRequest = { sessionId, toolCall, options: [...options] };
  const withdrawal = { cancellationSignal: signal, stopWaitingOnCancel: true };
  const { outcome } = await context.request(methods.client.session.requestPermission, request, withdrawal);
  if (outcome.outcome !== 'selected') return undefined;
  return options.find(({ optionId }) => optionId === outcome.optionId)?.optionId;
}
