// Shows what a conversation does while it starts, in one line of the terminal that is overwritten.
import type { Parley } from '../../client/parley.ts';
import type { Output } from './output.ts';
import { plainLine } from './plainText.ts';

const pollEveryMs = 300;
const marks = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

const sentences: Readonly<Record<string, string>> = {
  STATUS$WAITING_FOR_WORKER: 'waiting for a worker',
  STATUS$STARTING_RUNTIME: 'preparing the sandbox',
  STATUS$SETTING_UP_WORKSPACE: 'setting up the workspace',
  STATUS$STARTING_AGENT: 'starting the agent',
};

/** What `runtime_status` means, with its details. */
export function describeRuntimeStatus(status: string | null): string {
  const [name = '', ...rest] = (status ?? '').split(': ');
  const sentence = (Object.hasOwn(sentences, name) ? sentences[name] : undefined) ?? plainLine(name);
  return [sentence, ...rest.map(plainLine)].filter((part) => part !== '').join(': ');
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
      const { status, runtime_status } = await parley.conversations.get(id, { signal });
      if (timer === undefined || status !== 'STARTING') return;
      const line = `${marks[turn++ % marks.length]} Starting: ${describeRuntimeStatus(runtime_status)} …`;
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
