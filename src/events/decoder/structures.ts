// Reads fields of events that are objects or lists.
import { type Fields, fieldsOf, isFields, oneOf, type Read, text } from './fields.ts';
import { taskStatuses } from './words.ts';

export const tasksOf: Read = (value) =>
  Array.isArray(value)
    ? value.filter(isFields).map((task) => ({
        ...task,
        id: text(task['id']),
        title: text(task['title']),
        status: oneOf(taskStatuses, 'todo')(task['status'], task),
        notes: text(task['notes']),
      }))
    : [];

export const exitCodeOf: Read = (value) => {
  const { exit_code: code, ...rest } = fieldsOf(value);
  return Number.isSafeInteger(code) ? { ...rest, exit_code: code } : rest;
};

const isNumber = (value: unknown) => typeof value === 'number' && Number.isFinite(value);

export const costOf: Read = (value) => {
  const { amount, currency } = fieldsOf(value);
  return isNumber(amount) && typeof currency === 'string' ? { ...fieldsOf(value), amount, currency } : null;
};

const counts = [
  'prompt_tokens',
  'completion_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'context_window',
  'per_turn_token',
];

function hasNumbers(fields: Fields, names: readonly string[]): boolean {
  return names.every((name) => isNumber(fields[name]));
}

export const partialOf: Read = (value) => {
  const { of, to } = fieldsOf(value);
  return typeof of === 'string' && Number.isSafeInteger(to) ? { of, to } : undefined;
};

export const metricsOf: Read = (value) => {
  const metrics = fieldsOf(value);
  const tokens = fieldsOf(metrics['accumulated_token_usage']);
  const { max_budget_per_task: budget } = metrics;
  const isWhole = hasNumbers(metrics, ['accumulated_cost']) && hasNumbers(tokens, counts);
  return isWhole && (budget === null || isNumber(budget)) ? metrics : undefined;
};
