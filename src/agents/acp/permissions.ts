// Whether an agent may do what it asks leave for, or a person decides.

import type { CallConfirmation, Risk } from './callEvents.ts';
import type { PermissionAnswer, PermissionOption, PermissionRequest } from './questions.ts';

/** What a kind of tool can do at worst. Every other kind, and none at all, counts as high. */
const risks: Readonly<Record<string, Risk>> = {
  read: 'low',
  search: 'low',
  think: 'low',
  switch_mode: 'medium',
  edit: 'medium',
};

/** `kind` as the agent tells it, in its question or when it announced the call. */
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
  /** Any but an empty one: a person is asked for what is of high risk only. */
  readonly securityAnalyzer: string | null;
  /** There is no sandbox: a person is asked for all but what only reads, whatever the settings say. */
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

/** How a call that was decided on stands in the log. */
export function toConfirmation(decision: 'allow' | 'ask', risk: Risk): CallConfirmation {
  return { state: decision === 'ask' ? 'awaiting_confirmation' : 'confirmed', risk };
}

/**
 * The kinds of option that stand for an answer, best first. What the user allows once never becomes a standing
 * permission. What the settings allow may: they would allow it the next time as well.
 */
const kindsOf = {
  allow: ['allow_once'],
  allow_always: ['allow_always', 'allow_once'],
  allow_by_settings: ['allow_once', 'allow_always'],
  reject: ['reject_once', 'reject_always'],
} as const;

/** Goes by the kind of each option, whatever its name says. Returns `cancelled` if the agent offers no such option. */
export function chooseAnswer(
  { options }: Pick<PermissionRequest, 'options'>,
  answer: keyof typeof kindsOf,
): PermissionAnswer {
  const found = kindsOf[answer]
    .map((kind) => options.find((option: PermissionOption) => option.kind === kind))
    .find((option) => option !== undefined);
  return found === undefined ? 'cancelled' : { optionId: found.optionId };
}

/** Whether the user can allow it without allowing more than this one call. */
export function canAllowOnce(request: Pick<PermissionRequest, 'options'>): boolean {
  return chooseAnswer(request, 'allow') !== 'cancelled';
}
