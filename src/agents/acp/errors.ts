// Why an agent cannot go on, in sentences for people.

export type AgentErrorCode =
  /** It did not answer in time while it was opened. */
  | 'too_slow'
  /** Its process has ended. */
  | 'exited'
  /** It wants a login that nobody can give it here. */
  | 'auth_needed'
  /** It answered a request with an error. */
  | 'refused'
  /** What it says is not the protocol that we speak. */
  | 'protocol'
  /** The fault is ours: what it said could not be taken in. */
  | 'consumer';

const quotedMax = 500;

/** `message` and `details` may quote the agent, which may quote its secrets: mask both before they are shown. */
export class AgentError extends Error {
  readonly code: AgentErrorCode;
  /** The last of what it wrote to its error output; may be empty. */
  readonly details: string;

  constructor(code: AgentErrorCode, message: string, details = '', options?: ErrorOptions) {
    super(message, options);
    this.name = 'AgentError';
    this.code = code;
    this.details = details;
  }
}

/** Text of an agent on one line, short enough for a sentence. */
export function quote(text: string): string {
  const line = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return (line.length > quotedMax ? `${line.slice(0, quotedMax)}…` : line).toWellFormed();
}
