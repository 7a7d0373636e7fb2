// The last resort for errors that nobody caught: the run that they belong to ends, or else the service stops in order.
import type { Logger } from 'pino';
import { currentRun } from '../runtime/currentRun.ts';

/** A stop in order that takes longer is cut short: nobody knows what state the process is in. */
const stopMsMax = 30_000;

interface UncaughtOptions {
  readonly logger: Logger;
  /** Stops the service in order, with an exit code that says that it failed. */
  readonly stop: () => void;
  readonly exitCode: number;
}

/** Rejections that nobody handles arrive as uncaught exceptions, too: that is what Node does with them by default. */
export function handleUncaught({ logger, stop, exitCode }: UncaughtOptions): void {
  function stopService(error: unknown, sentence: string): void {
    logger.fatal({ err: error }, sentence);
    stop();
    setTimeout(() => process.exit(exitCode), stopMsMax).unref();
  }

  process.on('uncaughtException', (error: unknown) => {
    const run = currentRun();
    if (run === undefined) return stopService(error, 'nobody caught an error; stopping');
    const { conversationId } = run;
    logger.error({ err: error, conversation: conversationId }, 'nobody caught an error of a run; ending it');
    run
      .crash()
      .catch((late: unknown) => stopService(late, 'a run could not be ended after its error; stopping'));
  });
}
