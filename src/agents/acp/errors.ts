// The error of an agent that cannot continue, with a sentence for people.

export type AgentErrorCode =
  /** The agent did not answer in time while it was opened. */
  | 'too_slow'
  /** The process has ended. */
  | 'exited'
  /** The agent requires a login. */
  | 'auth_needed'
  /** The agent answered a request with an error. */
  | 'refused'
  /** The agent violated the protocol. */
  | 'protocol'
  /** Parley could not process an update of the agent. */
  | 'consumer';

const quotedMax = 500;

/** `message` and `details` may quote the agent and therefore contain secrets: mask both before you show them. */
export class AgentError extends Error {
  readonly code: AgentErrorCode;
  /** The end of the error output; may be empty. */
  readonly details: string;

  constructor(code: AgentErrorCode, message: string, details = '', options?: ErrorOptions) {
    super(message, options);
    this.name = 'AgentError';
    this.code = code;
    this.details = details;
  }
}

/** Returns text of an agent on one line, short enough for a sentence. */
export function quote(text: string): string {
  const line = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return (line.length > quotedMax ? `${line.slice(0, quotedMax)}…` : line).toWellFormed();
}
