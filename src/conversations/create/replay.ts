// Reads `replay_json`: events of an earlier conversation that become the start of a new log.

import { AppError, invalid } from '../../errors.ts';
import { eventSources } from '../../events/decoder/words.ts';
import type { ReplayedEvent } from '../../events/shapes.ts';
import { textFault } from '../../validation/schema.ts';
import { findTooManyValues } from '../../validation/tooManyValues.ts';
import { replayBytesMax } from './schema.ts';

const replayEventsMax = 10_000;
const replayValuesMax = 1_000_000;
const depthMax = 64;
const sources: ReadonlySet<unknown> = new Set(eventSources);

function refuse(message: string, at = ''): AppError {
  return invalid([{ path: `replay_json${at}`, message }]);
}

function findEvents(parsed: unknown): unknown[] {
  const { trajectory, events } = (parsed ?? {}) as { trajectory?: unknown; events?: unknown };
  const list = [parsed, trajectory, events].find((candidate) => Array.isArray(candidate));
  if (list === undefined)
    throw refuse('must be a list of events, or an object with one as trajectory or events');
  return list as unknown[];
}

/** Finds values that a database cannot store or readers cannot traverse, without recursion. */
function valueFault(event: object): string | undefined {
  let level: unknown[] = [event];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > depthMax) return `must be nested at most ${depthMax} levels deep`;
    const next: unknown[] = [];
    for (const value of level) {
      const fault = typeof value === 'string' ? textFault(value, replayBytesMax) : numberFault(value);
      if (fault !== undefined) return fault;
      if (typeof value === 'object' && value !== null) {
        if (Object.hasOwn(value, '__proto__')) return 'must not contain a field named __proto__';
        for (const name of Array.isArray(value) ? [] : Object.keys(value)) next.push(name);
        for (const inner of Object.values(value)) next.push(inner);
      }
    }
    level = next;
  }
  return undefined;
}

function numberFault(value: unknown): string | undefined {
  if (typeof value !== 'number') return undefined;
  if (!Number.isFinite(value)) return 'must not contain numbers that are too large';
  const unsafe = Number.isInteger(value) && !Number.isSafeInteger(value);
  return unsafe ? 'must not contain whole numbers beyond 2^53' : undefined;
}

/** Fields whose shape readers rely on. */
const shapes: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  action: textShape,
  observation: textShape,
  content: textShape,
  tool_call_id: textShape,
  args: objectShape,
  extras: objectShape,
};

function textShape(value: unknown): string | undefined {
  return typeof value === 'string' ? undefined : 'must be a string';
}

function objectShape(value: unknown): string | undefined {
  const isObject = typeof value === 'object' && !Array.isArray(value);
  return isObject ? undefined : 'must be an object';
}

/** Null counts as absent. Throws at the first field of another shape. */
function checkShapes(event: Record<string, unknown>, at: string): void {
  for (const [name, faultOf] of Object.entries(shapes)) {
    if (event[name] === null) delete event[name];
    const fault = event[name] === undefined ? undefined : faultOf(event[name]);
    if (fault !== undefined) throw refuse(fault, `${at}.${name}`);
  }
}

function toEvent(value: unknown, at: string): ReplayedEvent {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refuse('must be an object', at);
  const { id: _, timestamp, source, message, ...rest } = value as Record<string, unknown>;
  if (typeof rest['action'] !== 'string' && typeof rest['observation'] !== 'string')
    throw refuse('must have an action or an observation', at);
  const fault = valueFault(value);
  if (fault !== undefined) throw refuse(fault, at);
  checkShapes(rest, at);
  return {
    ...(typeof timestamp === 'string' ? { timestamp } : {}),
    source: sources.has(source) ? source : 'environment',
    message: typeof message === 'string' ? message : '',
    ...rest,
    replayed: true,
  };
}

/** Whether the text contains no events. Forms without anything to replay send such a text. */
export function isEmptyReplay(text: string): boolean {
  const trimmed = text.trim();
  return trimmed === '' || /^(?:\[\s*\]|\{\s*\})$/.test(trimmed);
}

/** The events, which get new ids. Throws `invalid` with the path. */
export function readReplay(text: string): ReplayedEvent[] {
  let parsed: unknown;
  try {
    const crowd = findTooManyValues(Buffer.from(text), replayValuesMax);
    if (crowd !== undefined) throw refuse(crowd);
    parsed = JSON.parse(text);
  } catch (error) {
    throw error instanceof AppError ? error : refuse('must be valid JSON');
  }
  const events = findEvents(parsed);
  if (events.length > replayEventsMax) throw refuse(`must have at most ${replayEventsMax} events`);
  return events.map((event, i) => toEvent(event, `[${i}]`));
}
