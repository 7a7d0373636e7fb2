// What of a form of the settings is sent: the members that differ from what is stored, as the service takes them.
import type { SettingsChange } from '../../../src/client/parley.ts';

export type NumberMember = 'max_iterations' | 'max_budget_per_task' | 'remote_runtime_resource_factor';

const whole = /^-?\d{1,15}$/;
const decimal = /^-?\d{1,15}([.,]\d{1,15})?$/;
/** 1,500 and 1.500 mean a thousand and a half to some, and one and a half to others. */
const grouped = /^[1-9]\d{0,2}([.,]\d{3})+$/;

const isNumber: Readonly<Record<NumberMember, (text: string) => boolean>> = {
  max_iterations: (text) => whole.test(text),
  max_budget_per_task: (text) => decimal.test(text) && !grouped.test(text),
  remote_runtime_resource_factor: (text) => whole.test(text),
};

/** What is typed into a number is kept as text: "0.50" on the way to "0.505" is not 0.5. What is none is sent as it is. */
function toSent(name: string, typed: unknown): unknown {
  if (!Object.hasOwn(isNumber, name) || typeof typed !== 'string') return typed;
  const text = typed.trim();
  return isNumber[name as NumberMember](text) ? Number(text.replace(',', '.')) : typed;
}

export function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
}

export function changesOf(draft: SettingsChange, stored: object): SettingsChange {
  const now = stored as Readonly<Record<string, unknown>>;
  const changes = Object.entries(draft)
    .filter(([name, typed]) => typed !== undefined && typed !== String(now[name] ?? ''))
    .map(([name, typed]) => [name, toSent(name, typed)] as const)
    .filter(([name, value]) => !same(value, now[name]));
  return Object.fromEntries(changes) as SettingsChange;
}

/** The members that were typed after `sent` went out: they are not stored yet. */
export function typedSince<Members extends object>(now: Members, sent: Members): Partial<Members> {
  const before = sent as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(now).filter(([name, value]) => value !== before[name]),
  ) as Partial<Members>;
}
