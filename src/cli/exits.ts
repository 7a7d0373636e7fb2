// Exit codes, once for all commands, and which of them an error of the client comes to.
import type { ParleyError, ParleyErrorCode } from '../client/errors.ts';
import type { StopCode } from '../conversations/states.ts';

export const exits = {
  done: 0,
  failed: 1,
  misused: 2,
  notFound: 3,
  unreachable: 4,
  asks: 5,
  stopped: 6,
  unjudged: 7,
  interrupted: 130,
  readerLeft: 141,
  terminated: 143,
} as const;

/** For the help of commands that speak to a service. */
export const exitHelp = `Exit codes: 0 done, 1 failed, 2 wrong use, 3 there is no such conversation or file,
            4 no service, or it refuses the key.
`;

export const followExitHelp = `With --follow it ends when the agent waits for you, and says how it went:
            0 it has ended its turn, 1 it failed, 5 it asks for permission, 6 it was stopped or reached a
            limit, 130 you left with Ctrl-C, 143 somebody ended the command: the conversation goes on.
`;

export const connectionHelp = `Speaks to the service at PARLEY_URL (default: at PORT of this machine, or else the one that runs on the data folder)
with the key in PARLEY_KEY, or else with that of the owner in the data folder (PARLEY_DATA_DIR, default: ./data).
An id may be shortened to any beginning that no other has.
`;

/** For commands that work in both places. */
export const placeHelp = `With PARLEY_URL it is the service there that is asked, with the key in PARLEY_KEY or the owner's; otherwise the
database of this machine: in PARLEY_DATA_DIR (default: ./data), or at DATABASE_URL.
`;

/** For commands that no service can be asked for. */
export const localHelp = `Works on the database of this machine alone: in PARLEY_DATA_DIR (default: ./data), or at DATABASE_URL.
`;

export const outputHelp = `Where the output is no terminal, or with --json, it is JSON, a line each; --text is for people everywhere.
`;

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
  invalid: exits.misused,
  bad_limit: exits.misused,
  body_too_large: exits.misused,
  headers_too_large: exits.misused,
  malformed_json: exits.misused,
  malformed_request: exits.misused,
  unsupported_media_type: exits.misused,
  conversation_exists: exits.misused,
  idempotency_key_reused: exits.misused,
  secret_exists: exits.misused,
  limit_reached: exits.misused,
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
