// Holds events to the vocabulary: what is in a log must have a schema, unless it was imported.
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { actions, observations } from '../../src/events/vocabulary/vocabulary.ts';
import type { TestStorage } from './databases.ts';
import { inspect, type Row } from './inspect.ts';

type Schemas = Readonly<Record<string, TSchema>>;

/** Of one log: tests that write more write the same again and again. */
const checkedMax = 5_000;

const compiled = new Map<object, ReturnType<typeof Compile>>();

function checkOf(schemas: Schemas, name: unknown) {
  const schema = typeof name === 'string' && Object.hasOwn(schemas, name) ? schemas[name] : undefined;
  if (schema === undefined) return undefined;
  const check = compiled.get(schema) ?? Compile(schema);
  compiled.set(schema, check);
  return check;
}

/** Why an event is none of the vocabulary; undefined where it is one. */
export function vocabularyFault(event: Readonly<Record<string, unknown>>): string | undefined {
  const { action, observation } = event;
  const check = action === undefined ? checkOf(observations, observation) : checkOf(actions, action);
  if (check === undefined) return `there is no type for ${action ?? observation}`;
  if (check.Check(event)) return undefined;
  return check
    .Errors(event)
    .map(({ instancePath, message }) => `${instancePath} ${message}`)
    .join('; ');
}

async function storedEvents(storage: TestStorage): Promise<Row[]> {
  try {
    return await inspect(storage, `select json from event_log limit ${checkedMax}`);
  } catch {
    // Tests of faults take the database away.
    return [];
  }
}

/** Throws where the service has written an event that is not in the vocabulary. */
export async function checkStoredEvents(storage: TestStorage): Promise<void> {
  for (const { json } of await storedEvents(storage)) {
    const event = JSON.parse(String(json));
    const fault = event.replayed === true ? undefined : vocabularyFault(event);
    if (fault !== undefined) throw new Error(`not an event of the vocabulary: ${fault}: ${json}`);
  }
}
