// The exit codes of all commands, and the exit code for each error of the client.
import type { ParleyError, ParleyErrorCode } from '../client/errors.ts';
import type { StopCode } from '../conversations/states.ts';

export const exits = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  unreachable: 4,
  needsApproval: 5,
  stopped: 6,
  undetermined: 7,
  interrupted: 130,
  readerGone: 141,
  terminated: 143,
} as const;

const codeExits: Readonly<Partial<Record<ParleyErrorCode, number>>> = {
  network: exits.unreachable,
  timeout: exits.unreachable,
  unexpected: exits.unreachable,
  unauthorized: exits.unreachable,
  forbidden: exits.unreachable,
  host_not_allowed: exits.unreachable,
  not_found: exits.notFound,
  no_workspace: exits.notFound,
  no_repository: exits.notFound,
  invalid: exits.usage,
  bad_limit: exits.usage,
  body_too_large: exits.usage,
  headers_too_large: exits.usage,
  malformed_json: exits.usage,
  malformed_request: exits.usage,
  unsupported_media_type: exits.usage,
  conversation_exists: exits.usage,
  idempotency_key_reused: exits.usage,
  secret_exists: exits.usage,
  limit_reached: exits.usage,
  provider_key_missing: exits.usage,
};

export function exitOfError({ code }: ParleyError): number {
  return codeExits[code] ?? exits.failed;
}

const failures: ReadonlySet<StopCode> = new Set([
  'agent_error',
  'agent_missing',
  'no_sandbox',
  'workspace_error',
  'start_timeout',
  'unconfirmed_action',
]);

export function exitOfStop(code: StopCode): number {
  if (code === 'finished') return exits.done;
  return failures.has(code) ? exits.failed : exits.stopped;
}
