// Messages to the agent of a run, and queries of its log.
import type { Info, Runs, TestEvent } from './runs.ts';
import { until } from './until.ts';

const withinMs = 20_000;

export const stateOf = ({ extras }: TestEvent): unknown => extras?.['agent_state'];

/** The states of the agent, in the order of the log. */
export function statesOf(events: readonly TestEvent[]): unknown[] {
  return events.map(stateOf).filter((state) => state !== undefined);
}

type Talk = Pick<Runs, 'events' | 'say' | 'turns' | 'reaches'>;

/** The action that waits for approval, once there were this many. */
export function approvalRequest({ events }: Talk, id: string, count = 1): Promise<TestEvent> {
  return until(
    `question ${count} waits`,
    async () => {
      const all = await events(id);
      const asked = all.filter(({ args }) => args?.['confirmation_state'] === 'awaiting_confirmation');
      const states = statesOf(all);
      return asked.length === count && states.at(-1) === 'awaiting_user_confirmation' && asked.at(-1);
    },
    withinMs,
  );
}

/** Makes the agent run a shell command in the `count`-th turn, and returns its output. */
export async function shell(runs: Talk, id: string, count: number, command: string): Promise<string> {
  await runs.say(id, `really-run ${command}`);
  await runs.turns(id, count);
  const ran = (await runs.events(id)).filter(({ observation }) => observation === 'run');
  return String(ran.at(-1)?.content);
}

/** Waits for the end, and returns its reason and the whole log. */
export async function ending({ reaches, events }: Talk, id: string) {
  const { stop_reason: reason }: Info = await reaches(id, 'STOPPED');
  return { code: reason?.code, message: reason?.message ?? '', events: await events(id) };
}

/** The texts of all errors and notices. */
export function errorsAndNotices(events: readonly TestEvent[]): string[] {
  return events
    .filter(({ observation }) => observation === 'error' || observation === 'notice')
    .map(({ content }) => content ?? '');
}
