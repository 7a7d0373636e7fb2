// Runs the operator's command for each approval request, apart from the run that asks: nothing waits for it.
import { type ChildProcess, spawn } from 'node:child_process';
import { conversationUrl, startOf } from '../../events/notification.ts';

/** The commands that run at the same time. */
const runningMax = 4;
/** Further notifications are dropped. */
const waitingMax = 100;
const timeoutDefaultMs = 10_000;
/** How much of its error output is logged. */
const errorBytesMax = 2_000;

/** The rest of the environment may contain secrets of the service. */
const inherited = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ'] as const;

export interface ApprovalNotification {
  readonly conversationId: string;
  /** The id of the event that asks. */
  readonly eventId: number;
  /** What needs approval, masked. */
  readonly message: string;
}

export interface Notifier {
  /** Returns at once and never throws. */
  notify(notification: ApprovalNotification): void;
  /** Kills the commands that run, and drops the others. */
  close(): void;
}

interface NotifierOptions {
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly publicUrl: string | undefined;
  readonly onError: (error: Error) => void;
  /** A shorter one, for tests. */
  readonly timeoutMs?: number;
}

function detailsOf(
  { conversationId, eventId, message }: ApprovalNotification,
  publicUrl: string | undefined,
) {
  return {
    type: 'approval_requested',
    conversation_id: conversationId,
    event_id: eventId,
    message: startOf(message),
    url: conversationUrl(publicUrl, conversationId),
  };
}

type Details = ReturnType<typeof detailsOf>;

function environmentOf({ type, conversation_id, event_id, url }: Details): NodeJS.ProcessEnv {
  return {
    ...Object.fromEntries(inherited.map((name) => [name, process.env[name]])),
    PARLEY_NOTIFICATION: type,
    PARLEY_CONVERSATION_ID: conversation_id,
    PARLEY_EVENT_ID: String(event_id),
    ...(url === null ? {} : { PARLEY_CONVERSATION_URL: url }),
  };
}

/** The command leads its own process group, so that its children end with it. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // No process of the group is left.
  }
}

export function createNotifier(options: NotifierOptions): Notifier {
  const { command, publicUrl, onError, timeoutMs = timeoutDefaultMs } = options;
  const [program = '', ...args] = command;
  const running = new Set<ChildProcess>();
  const waiting: Details[] = [];
  let isClosed = false;

  function fail(why: string): void {
    if (!isClosed) onError(new Error(`The notification command ${why}`));
  }

  function start(details: Details): void {
    const env = environmentOf(details);
    const child = spawn(program, args, { env, detached: true, stdio: ['pipe', 'ignore', 'pipe'] });
    running.add(child);
    let errors = '';
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      killGroup(child);
    }, timeoutMs);
    child.stderr.on('data', (piece: Buffer) => {
      if (errors.length < errorBytesMax) errors += piece.toString();
    });
    // It need not read its input.
    child.stdin.on('error', () => {});
    child.stdin.end(`${JSON.stringify(details)}\n`);
    child.on('error', (error) => fail(`could not be run: ${error.message}`));
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      running.delete(child);
      const said = errors.slice(0, errorBytesMax).trim();
      if (isLate) fail(`was killed after ${timeoutMs} ms. ${said}`);
      else if (code !== 0 && child.pid !== undefined) fail(`ended with ${code ?? signal}. ${said}`);
      startNext();
    });
  }

  function startNext(): void {
    if (isClosed || running.size >= runningMax) return;
    const next = waiting.shift();
    if (next !== undefined) start(next);
  }

  return {
    notify: (notification) => {
      if (isClosed) return;
      if (waiting.length >= waitingMax)
        return fail(`was not run for ${notification.conversationId}: too many notifications wait.`);
      waiting.push(detailsOf(notification, publicUrl));
      try {
        startNext();
      } catch (error) {
        fail(`could not be run: ${(error as Error).message}`);
      }
    },
    close: () => {
      isClosed = true;
      waiting.length = 0;
      for (const child of running) killGroup(child);
    },
  };
}
