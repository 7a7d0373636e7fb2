// Shows what a conversation does while it starts, in one line of the terminal that is overwritten.
import type { ConversationInfo, Parley } from '../../client/parley.ts';
import { plainLine } from '../../text/plainText.ts';
import type { Output } from './output.ts';

const pollEveryMs = 300;
const marks = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

const sentences: Readonly<Record<string, string>> = {
  waiting_for_worker: 'waiting for a worker',
  starting_sandbox: 'preparing the sandbox',
  preparing_workspace: 'setting up the workspace',
  starting_agent: 'starting the agent',
};

/** The step of a start, with its details. Older services do not report it. */
export function describeProgress(progress: ConversationInfo['start_progress'] | undefined): string {
  if (progress == null) return sentences['starting_sandbox'] ?? '';
  const { step, details } = progress;
  // A newer service may have other steps.
  const sentence = (Object.hasOwn(sentences, step) ? sentences[step] : undefined) ?? plainLine(step);
  return details === null ? sentence : `${sentence}: ${plainLine(details)}`;
}

interface ProgressOptions {
  readonly parley: Parley;
  readonly output: Output;
  readonly id: string;
  readonly signal: AbortSignal;
}

/** Shows nothing if the output is not a terminal. */
export function showProgress({ parley, output, id, signal }: ProgressOptions) {
  let timer: ReturnType<typeof setInterval> | undefined;
  let [shown, polling, turn] = [false, false, 0];

  function clear(): void {
    if (shown) output.text('\r\u001b[K');
    shown = false;
  }

  async function poll(): Promise<void> {
    if (polling) return;
    polling = true;
    try {
      const { status, start_progress: progress } = await parley.conversations.get(id, { signal });
      if (timer === undefined || status !== 'STARTING') return;
      const line = `${marks[turn++ % marks.length]} Starting: ${describeProgress(progress)} …`;
      output.text(`\r\u001b[K${output.style('dim', line.slice(0, output.columns - 1))}`);
      shown = true;
    } catch {
      // The event stream reports what is wrong.
    } finally {
      polling = false;
    }
  }

  function end(): void {
    clearInterval(timer);
    timer = undefined;
    clear();
  }

  return {
    clear,
    end,
    /** Starts or ends the progress line. */
    set: (starting: boolean) => {
      if (!starting || !output.isLive) return end();
      timer ??= setInterval(() => void poll(), pollEveryMs);
      void poll();
    },
  };
}
