// What must hold when everything has come to rest: nothing is stuck, and nothing that a user sent was lost or doubled.
import { agentStateOf } from '../../src/conversations/states.ts';
import type { Machine } from './agents.ts';
import { type Checker, type Lifetime, messagesIn, type Row } from './checker.ts';
import type { Sent } from './clients.ts';
import { Violation } from './world.ts';

/** It waits for a person, or is over. */
export function isAtRest(row: Row): boolean {
  if (row.status === 'STOPPED') return row.run_id === null;
  const state = agentStateOf(row);
  return (
    row.run_id !== null &&
    row.wanted === null &&
    row.runtime_status === null &&
    (state === 'awaiting_user_input' || state === 'awaiting_user_confirmation')
  );
}

function fail(invariant: string, sentence: string): never {
  throw new Violation(invariant, sentence);
}

export function checkRest(rows: Iterable<Row>): void {
  for (const row of rows) if (!isAtRest(row)) fail('stuck', `nothing happens to ${JSON.stringify(row)}`);
}

/** Every request took effect once if it was acknowledged, at most once if that is unknown, and not at all if refused. */
export function checkSent(sent: readonly Sent[], lifetimes: readonly Lifetime[]): void {
  const places = new Map<string, Lifetime[]>();
  for (const lifetime of lifetimes)
    for (const { token } of messagesIn(lifetime)) places.set(token, [...(places.get(token) ?? []), lifetime]);
  for (const { token, kind, answers } of sent) {
    const found = places.get(token) ?? [];
    const acknowledged = answers.filter((answer) => answer.outcome === 'ok');
    const values = new Set(acknowledged.map(({ value }) => value));
    // A deletion removes the keys, so a late copy of the request may begin anew afterwards.
    const kept = found.filter(({ isDeleted }) => !isDeleted);
    if (kept.length > 1 || new Set(found).size < found.length)
      fail('doubled-message', `the ${kind} ${token} is in the log ${found.length} times`);
    if (values.size > 1 && found.length < 2)
      fail('different-answers', `the ${kind} ${token} was answered with ${[...values].join(' and ')}`);
    if (acknowledged.length > 0 && found.length === 0)
      fail('lost-message', `the ${kind} ${token} was acknowledged and is in no log`);
    if (answers.length > 0 && answers.every(({ outcome }) => outcome === 'refused') && found.length > 0)
      fail('refused-but-done', `the ${kind} ${token} was refused and is in a log`);
  }
}

/** The agent was given every message that its user did not cancel, and its session knows it. */
export function checkHeard(checker: Checker, machines: readonly Machine[]): void {
  for (const [key, row] of checker.rows()) {
    const lifetime = checker.lifetimeOf(key);
    if (lifetime === undefined) continue;
    const session = sessionOf(row, machines);
    for (const { id, token } of messagesIn(lifetime)) {
      if (id < row.cancelled) continue;
      const { fresh, repeated } = lifetime.told.get(token) ?? { fresh: 0, repeated: 0 };
      if (fresh + repeated === 0)
        fail('lost-message', `no agent was given ${token}, event ${id} of ${JSON.stringify(row)}`);
      if (session !== undefined && !session.has(token))
        fail(
          'lost-message',
          `the session ${row.agent_session} does not know ${token}, event ${id} of ${key}`,
        );
    }
  }
}

function sessionOf(
  { key, id, agent_session: stored, workspace_node: node }: Row,
  machines: readonly Machine[],
) {
  const home = machines.find(({ name }) => name === node)?.homes.get(`${key}/${id}`);
  return home?.sessions.get((stored ?? '').split(' ').slice(1).join(' '))?.known;
}

/** Every action in a log has its result. */
export function checkResults(lifetimes: readonly Lifetime[]): void {
  for (const { key, events, isDeleted } of lifetimes) {
    if (isDeleted) continue;
    const ended = new Set(
      events.flatMap((event) => (event.observation === undefined ? [] : event.tool_call_id)),
    );
    for (const { tool_call_id: call, action, id } of events)
      if (call !== undefined && action !== undefined && !ended.has(call))
        fail('unfinished-action', `the action ${call}, event ${id} of ${key}, has no result`);
  }
}
