// The verdict on a history: a pure function, which knows nothing of how the history came about.
import { checkConversations } from './checks/conversations.ts';
import { checkRuns } from './checks/runs.ts';
import { checkSettings } from './checks/settings.ts';
import { checkSubscribers } from './checks/subscribers.ts';
import { createFindings, type Findings, type Violation } from './checks/violation.ts';
import type { History } from './history.ts';

export interface Verdict {
  readonly checks: number;
  readonly violations: readonly Violation[];
  /** Messages that had to reach an agent. */
  readonly messages: number;
}

const internalError = 500;

function checkProcesses(findings: Findings, { operations, exits, leftBehind }: History): void {
  for (const { process, code, signal, cause, lastWords } of exits)
    findings.expect(
      cause !== undefined,
      'unexpected-exit',
      () => `${process} ended with ${signal ?? `exit code ${code}`}, and nobody had ended it: ${lastWords}`,
    );
  for (const operation of operations)
    findings.expect(
      operation.status !== internalError,
      'internal-error',
      () => `${operation.process} answered a request of ${operation.user} with 500`,
      [operation],
    );
  for (const what of leftBehind)
    findings.expect(false, 'left-behind', () => `${what} was still there at the end`);
}

export function check(history: History): Verdict {
  const findings = createFindings();
  checkProcesses(findings, history);
  checkConversations(findings, history);
  checkSettings(findings, history);
  checkSubscribers(findings, history);
  const messages = checkRuns(findings, history);
  return { checks: findings.checks(), violations: findings.violations, messages };
}
