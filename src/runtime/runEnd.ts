// A reason for a run to stop its conversation, thrown from wherever it is found.
import { type StopCode, type StopReason, stopReason, stopReasons } from '../lifecycle/states.ts';

export class RunEnd extends Error {
  readonly reason: StopReason;
  /** What else the log should hold: the last words of an agent, say. */
  readonly details: string;

  constructor(code: StopCode, sentence?: string, details = '') {
    super(sentence ?? stopReasons[code]);
    this.name = 'RunEnd';
    this.reason = stopReason(code, sentence);
    this.details = details;
  }
}
