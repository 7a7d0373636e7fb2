// Handles uncaught errors: the run that caused one is ended; if no run did, the service shuts down.
import type { Logger } from 'pino';
import { currentRun } from '../runs/currentRun.ts';

/** A graceful stop may take this long. Then the process exits, because its state is unknown after the error. */
const stopMsMax = 30_000;

interface UncaughtOptions {
  readonly logger: Logger;
  /** Stops the service gracefully with a failure exit code. */
  readonly stop: () => void;
  readonly exitCode: number;
}

/** Also covers unhandled rejections, which Node raises as uncaught exceptions by default. */
export function handleUncaught({ logger, stop, exitCode }: UncaughtOptions): void {
  function stopService(error: unknown, sentence: string): void {
    logger.fatal({ err: error }, sentence);
    stop();
    setTimeout(() => process.exit(exitCode), stopMsMax).unref();
  }

  process.on('uncaughtException', (error: unknown) => {
    const run = currentRun();
    if (run === undefined) return stopService(error, 'uncaught error; stopping');
    const { conversationId } = run;
    logger.error({ err: error, conversation: conversationId }, 'uncaught error in a run; ending the run');
    run
      .crash()
      .catch((late: unknown) => stopService(late, 'could not end the run after its error; stopping'));
  });
}
