// Decides whether a call is allowed or needs approval by a person.

import type { PermissionAnswer, PermissionOption, PermissionRequest } from './approvalRequests.ts';
import type { CallConfirmation, Risk } from './callEvents.ts';

/** The risk of each kind of tool. Unknown and missing kinds count as high. */
const risks: Readonly<Record<string, Risk>> = {
  read: 'low',
  search: 'low',
  think: 'low',
  switch_mode: 'medium',
  edit: 'medium',
};

/** `kind` comes from the approval request or from the announced call. */
export function riskOf(kind: unknown): Risk {
  return (typeof kind === 'string' && Object.hasOwn(risks, kind) ? risks[kind] : undefined) ?? 'high';
}

/** Returns `high` for an empty list. */
export function highestRisk(known: readonly Risk[]): Risk {
  return (
    (['low', 'medium'] as const).find(
      (risk) => known.length > 0 && known.every((one) => !isAbove(one, risk)),
    ) ?? 'high'
  );
}

export function isAbove(one: Risk, other: Risk): boolean {
  return one !== other && (one === 'high' || other === 'low');
}

export interface Policy {
  readonly confirmationMode: boolean;
  /** If it is not empty, only calls of high risk need approval. */
  readonly securityAnalyzer: string | null;
  /** Set without a sandbox: everything but reading needs approval, whatever the settings are. */
  readonly forced: boolean;
}

/**
 * | | low | medium | high |
 * |---|---|---|---|
 * | forced | allow | ask | ask |
 * | confirmation mode | ask | ask | ask |
 * | confirmation mode, with an analyzer | allow | allow | ask |
 * | neither | allow | allow | allow |
 */
export function decide({ forced, confirmationMode, securityAnalyzer }: Policy, risk: Risk): 'allow' | 'ask' {
  if (forced && risk !== 'low') return 'ask';
  if (!confirmationMode) return 'allow';
  return (securityAnalyzer ?? '') === '' || risk === 'high' ? 'ask' : 'allow';
}

/** Returns how the log shows the decision. */
export function toConfirmation(decision: 'allow' | 'ask', risk: Risk): CallConfirmation {
  return { state: decision === 'ask' ? 'awaiting_confirmation' : 'confirmed', risk };
}

/**
 * The kinds of options that match an answer, best first. If the user allows a call once, it never becomes a permanent
 * permission. If the settings allow it, it may, because they would allow the next call, too.
 */
const kindsOf = {
  allow: ['allow_once'],
  allow_always: ['allow_always', 'allow_once'],
  allow_by_settings: ['allow_once', 'allow_always'],
  reject: ['reject_once', 'reject_always'],
} as const;

/** Uses the kind of each option, not its name. Returns `cancelled` if the agent offers no such option. */
export function chooseAnswer(
  { options }: Pick<PermissionRequest, 'options'>,
  answer: keyof typeof kindsOf,
): PermissionAnswer {
  const found = kindsOf[answer]
    .map((kind) => options.find((option: PermissionOption) => option.kind === kind))
    .find((option) => option !== undefined);
  return found === undefined ? 'cancelled' : { optionId: found.optionId };
}

/** Whether the user can allow this call without allowing others. */
export function canAllowOnce(request: Pick<PermissionRequest, 'options'>): boolean {
  return chooseAnswer(request, 'allow') !== 'cancelled';
}
