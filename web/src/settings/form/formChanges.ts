// Finds the fields of a settings form that differ from the stored record, and converts them for the request.
import type { SettingsChange } from '../../../../src/client/parley.ts';

export type NumberSetting = 'max_iterations' | 'max_budget_per_task' | 'remote_runtime_resource_factor';

const whole = /^-?\d{1,15}$/;
const decimal = /^-?\d{1,15}([.,]\d{1,15})?$/;
/** 1,500 and 1.500 are ambiguous: they mean 1500 to some people and 1.5 to others. */
const grouped = /^[1-9]\d{0,2}([.,]\d{3})+$/;

const isNumber: Readonly<Record<NumberSetting, (text: string) => boolean>> = {
  max_iterations: (text) => whole.test(text),
  max_budget_per_task: (text) => decimal.test(text) && !grouped.test(text),
  remote_runtime_resource_factor: (text) => whole.test(text),
};

/** Number fields hold text, so that "0.50" can become "0.505". Text that is not a number is sent as it is. */
function toRequestValue(name: string, input: unknown): unknown {
  if (!Object.hasOwn(isNumber, name) || typeof input !== 'string') return input;
  const text = input.trim();
  return isNumber[name as NumberSetting](text) ? Number(text.replace(',', '.')) : input;
}

export function isSameValue(a: unknown, b: unknown): boolean {
  return JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
}

export function changesOf(draft: SettingsChange, stored: object): SettingsChange {
  const values = stored as Readonly<Record<string, unknown>>;
  const changes = Object.entries(draft)
    .filter(([name, input]) => input !== undefined && input !== String(values[name] ?? ''))
    .map(([name, input]) => [name, toRequestValue(name, input)] as const)
    .filter(([name, value]) => !isSameValue(value, values[name]));
  return Object.fromEntries(changes) as SettingsChange;
}

/** The fields that the user has edited since `sent` was sent; they are not stored yet. */
export function changedSince<Fields extends object>(now: Fields, sent: Fields): Partial<Fields> {
  const before = sent as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(now).filter(([name, value]) => value !== before[name]),
  ) as Partial<Fields>;
}
