// A reason for a run to stop its conversation, thrown from wherever it is found.

import { type StopCode, type StopReason, stopReason, stopReasons } from '../conversations/states.ts';
import { agentStateChanged, errorEvent } from '../events/shapes.ts';
import type { NewEvent } from '../events/vocabulary/vocabulary.ts';

export class RunEnd extends Error {
  readonly reason: StopReason;
  /** Details for the log, such as the last output of an agent. */
  readonly details: string;
  readonly code: StopCode;

  constructor(code: StopCode, sentence?: string, details = '') {
    super(sentence ?? stopReasons[code]);
    this.name = 'RunEnd';
    this.code = code;
    this.reason = stopReason(code, sentence);
    this.details = details;
  }
}

/**
 * Thrown if this run must end and the next one goes on: the conversation stays RUNNING and is claimed again at once. The
 * message, if there is one, is for the log.
 */
export class NextRun extends Error {}

/** The events that record the end of a run. */
export function endEvents(reason: StopReason, details = ''): NewEvent[] {
  const words = details === '' ? '' : `\nIts last output:\n${details}`;
  return [
    errorEvent(reason.code.toUpperCase(), `${reason.message}${words}`),
    agentStateChanged('stopped', reason.message),
  ];
}
