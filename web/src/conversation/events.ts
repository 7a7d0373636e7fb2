// Events as they come into a timeline: agents and files that were replayed may have written anything into them.
import type { ParleyEvent } from '../../../src/client/parley.ts';

type Members = Readonly<Record<string, unknown>>;

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const shapes: Readonly<Record<string, (value: unknown) => unknown>> = {
  content: toText,
  message: toText,
  args: (value) => (isMembers(value) ? value : {}),
  extras: (value) => (isMembers(value) ? value : {}),
};
/** What is no text is as if it were not there. */
const texts = ['action', 'observation', 'source', 'timestamp', 'tool_call_id'];

/** With texts where texts belong, and members where members do. */
export function shapedEvent(event: ParleyEvent): ParleyEvent {
  const members = event as Members;
  const shaped = Object.entries(members).flatMap(([name, value]) => {
    if (texts.includes(name) && typeof value !== 'string') return [];
    const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined;
    if (shape === undefined) return [[name, value]];
    return value === undefined || value === null ? [] : [[name, shape(value)]];
  });
  return { message: '', ...Object.fromEntries(shaped) } as ParleyEvent;
}

/** Of what should be a list of such, those that are. */
export function membersIn(list: unknown): readonly Members[] {
  return Array.isArray(list) ? list.filter(isMembers) : [];
}
