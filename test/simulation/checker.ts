// What must hold after every commit, judged from the rows alone. It knows what the product promises, and nothing of how
// the stores keep it.
import { agentStateOf, type ConversationStatus, transitions } from '../../src/conversations/states.ts';
import type { AnyTransaction } from '../../src/db/transaction.ts';
import { tokensIn } from './agentProgram.ts';
import type { OwnerCheck } from './agents.ts';
import { createMachineCheck, type MachineCheck } from './machines.ts';
import type { WriteWatch } from './simDatabase.ts';
import type { Store } from './store.ts';
import { Violation, type World } from './world.ts';

export interface Row {
  readonly key: number;
  readonly user_id: number;
  readonly id: string;
  readonly status: ConversationStatus;
  readonly next_event: number;
  readonly run_id: string | null;
  readonly lease_until: number | null;
  readonly claimed_at: number | null;
  readonly active_at: number | null;
  readonly updated_at: number;
  readonly commands: number;
  readonly wanted: string | null;
  readonly runtime_status: string | null;
  readonly heard: number;
  readonly said: number;
  readonly cancelled: number;
  readonly turn_open: number;
  readonly question: number | null;
  readonly stop_code: string | null;
  readonly agent_session: string | null;
  readonly workspace_node: string | null;
}

const selectRows = `select key, user_id, id, status, next_event, run_id, lease_until, claimed_at,
  active_at, updated_at, commands, wanted, runtime_status, heard, said,
  cancelled, turn_open, question, stop_code, agent_session, workspace_node from conversations`;

export interface LoggedEvent {
  readonly id: number;
  readonly source?: string;
  readonly action?: string;
  readonly observation?: string;
  readonly tool_call_id?: string;
  readonly args?: {
    readonly content?: string;
    readonly agent_state?: string;
    readonly confirmation_state?: string;
  };
  readonly extras?: { readonly agent_state?: string; readonly notice_id?: string };
}

/** A conversation from its creation to its deletion. Its id and its key may be used again afterwards. */
export interface Lifetime {
  readonly key: number;
  readonly userId: number;
  readonly id: string;
  readonly events: LoggedEvent[];
  /** Run ids in the order of their claims. */
  readonly runs: string[];
  /** What agents were given, by token. */
  readonly told: Map<string, Told>;
  isDeleted: boolean;
}

export interface Told {
  fresh: number;
  repeated: number;
}

/** A delivery that a change demands, and that was stored with it. */
export interface DemandedDelivery {
  readonly id: string;
  readonly type: string;
  readonly eventId: number | null;
  readonly lifetime: Lifetime | undefined;
}

interface StoredDelivery {
  readonly id: string;
  readonly webhook_id: string;
  readonly type: string;
  readonly event_id: number | null;
  readonly conversation_key: number;
  readonly payload: string | null;
}

export interface Checker extends WriteWatch, OwnerCheck {
  readonly lifetimes: readonly Lifetime[];
  rows(): ReadonlyMap<number, Row>;
  lifetimeOf(key: number): Lifetime | undefined;
  readonly demanded: readonly DemandedDelivery[];
  readonly machines: MachineCheck;
}

function isAllowed(from: ConversationStatus | null, to: ConversationStatus): boolean {
  return transitions.some((one) => one.from === from && one.to === to);
}

const isMessage = ({ source, action }: LoggedEvent) => source === 'user' && action === 'message';

/** An event as the trace shows it. */
function describeEvent({ id, action, observation, tool_call_id: call, args, extras }: LoggedEvent): string {
  const state = args?.agent_state ?? extras?.agent_state ?? extras?.notice_id;
  return [id, action ?? observation, ...tokensIn(args?.content ?? ''), state, args?.confirmation_state, call]
    .filter((part) => part !== undefined)
    .join(' ');
}

const compared = [
  'id',
  'status',
  'next_event',
  'run_id',
  'heard',
  'said',
  'turn_open',
  'question',
  'stop_code',
] as const;

function isSame(before: Row, after: Row): boolean {
  return compared.every((column) => before[column] === after[column]);
}

/** `hasWebhook`: every user has one webhook that subscribes to everything. */
export function createChecker(world: World, store: Store, { hasWebhook }: { hasWebhook: boolean }): Checker {
  let rows: ReadonlyMap<number, Row> = new Map();
  const lifetimes: Lifetime[] = [];
  const current = new Map<number, Lifetime>();
  /** By run id. */
  const claimed = new Map<string, Lifetime>();
  let changesBefore = 0;
  let newestDelivery = '';
  const newestChange = new Map<number, number>();
  const demanded: DemandedDelivery[] = [];
  const machines = createMachineCheck(world, store);

  function violate(invariant: string, sentence: string): never {
    // Recorded at once, because the code that called may handle the error.
    const violation = new Violation(invariant, sentence);
    world.fail(violation);
    throw violation;
  }

  function expect(holds: boolean, invariant: string, sentence: () => string): void {
    if (!holds) violate(invariant, sentence());
  }

  const readRows = () => new Map(store.select<Row>(selectRows).map((row) => [row.key, row]));
  // Ids of deliveries increase in each process, and this is one.
  const findNewestDelivery = () =>
    store.select<{ id: string | null }>('select max(id) as id from deliveries')[0]?.id ?? '';

  /** The changes of users since the last call. */
  function readChanges(): string[] {
    return store.select<{ id: number }>('select id from users').flatMap(({ id: user }) => {
      const query = 'select id, json from changes where user_id = ? and id > ? order by id';
      const found = store.select<{ id: number; json: string }>(query, user, newestChange.get(user) ?? 0);
      newestChange.set(user, found.at(-1)?.id ?? newestChange.get(user) ?? 0);
      return found.map(({ json }) => json);
    });
  }

  /** A run that does not own its conversation changes nothing. */
  function checkFence(name: string, input: unknown, changes: number): void {
    const { key, runId } = (typeof input === 'object' && input !== null ? input : {}) as Partial<
      Record<'key' | 'runId', unknown>
    >;
    if (typeof key !== 'number' || typeof runId !== 'string' || changes === 0) return;
    const owner = rows.get(key)?.run_id;
    expect(owner === runId, 'fenced-writer', () => `${name} of ${runId} changed ${key}, which ${owner} owns`);
  }

  function checkOwnership(name: string, input: unknown, before: Row | undefined, after: Row): void {
    const old = before?.run_id ?? null;
    if (after.run_id === old) return;
    if (after.run_id !== null) {
      expect(old === null, 'one-owner', () => `${after.run_id} took ${after.key} from ${old}`);
      expect(!claimed.has(after.run_id), 'one-owner', () => `${after.run_id} was claimed twice`);
      expect(
        after.status !== 'STOPPED',
        'one-owner',
        () => `${after.run_id} claimed ${after.key}, which is STOPPED`,
      );
      if (before !== undefined && name === 'runtime.claim')
        machines.checkClaim(before, (input as { nodeId?: string }).nodeId);
      const lifetime = current.get(after.key) as Lifetime;
      claimed.set(after.run_id, lifetime);
      lifetime.runs.push(after.run_id);
      return;
    }
    const isOwn = (input as { runId?: string }).runId === old;
    const isOver = (before?.lease_until ?? 0) < world.now();
    expect(
      isOwn || isOver || name === 'sweep.releaseAll',
      'one-owner',
      () => `${name} released ${old}, whose lease has ${(before?.lease_until ?? 0) - world.now()} ms left`,
    );
  }

  /** An answer counts for the question that it was given to, and once. */
  function checkAnswer(name: string, input: unknown): void {
    if (name !== 'confirmations.answer') return;
    const { userId, id, question } = input as { userId: number; id: string; question: number | null };
    const row = [...rows.values()].find((one) => one.user_id === userId && one.id === id);
    const asked = row?.question ?? null;
    expect(
      asked !== null && (question === null || question === asked),
      'wrong-answer',
      () => `the answer to ${question} counted, while ${asked} was asked`,
    );
  }

  function checkStatus(before: Row | undefined, after: Row): void {
    const from = before?.status ?? null;
    const { status } = after;
    expect(
      from === status || isAllowed(from, status),
      'allowed-states',
      () => `${after.key} went from ${from} to ${status}`,
    );
    expect(
      (status === 'STOPPED') === (after.stop_code !== null),
      'allowed-states',
      () => `${after.key} is ${status} with the reason ${after.stop_code}`,
    );
    if (status === 'STOPPED')
      expect(
        after.turn_open === 0 && after.question === null,
        'allowed-states',
        () => `${after.key} is STOPPED with an open turn or question`,
      );
    if (status !== 'STARTING' && from === 'STARTING' && status === 'RUNNING')
      expect(after.run_id !== null, 'allowed-states', () => `${after.key} is RUNNING without a run`);
  }

  function checkProgress(before: Row | undefined, after: Row): void {
    const { key, heard, said, next_event: end } = after;
    expect(
      heard >= (before?.heard ?? 0) && said >= (before?.said ?? 0) && heard <= end && said <= end,
      'said-and-heard',
      () => `${key}: heard ${before?.heard}→${heard}, said ${before?.said}→${said}, next event ${end}`,
    );
  }

  function readNewEvents(before: Row | undefined, after: Row): LoggedEvent[] {
    const from = before?.next_event ?? 0;
    expect(after.next_event >= from, 'gapless-log', () => `${after.key}: ${from}→${after.next_event}`);
    if (after.next_event === from) return [];
    const stored = store.select<{ id: number; json: string }>(
      `select place & 4294967295 as id, json from events
       where place >= ((cast(? as integer) << 32) | ?) and place < (cast(? as integer) << 32) order by place`,
      after.key,
      from,
      after.key + 1,
    );
    const events = stored.map(({ json }) => JSON.parse(json) as LoggedEvent);
    const ids = stored.map(({ id }) => id);
    const isWhole =
      ids.length === after.next_event - from && ids.every((id, i) => id === from + i && events[i]?.id === id);
    expect(
      isWhole,
      'gapless-log',
      () => `${after.key}: new events ${ids.join(', ')} from ${from} to ${after.next_event}`,
    );
    return events;
  }

  /** A later run has written, so earlier ones are over; and no action is recorded twice. */
  function checkWriters(lifetime: Lifetime, events: readonly LoggedEvent[]): void {
    for (const event of events) {
      const { tool_call_id: call = '', action, observation, id } = event;
      const earlier = lifetime.events.filter((one) => one.tool_call_id === call && call !== '');
      if (action !== undefined && call !== '') {
        const owner = rowOf(lifetime.key)?.run_id;
        expect(
          call.split('/')[0] === owner,
          'fenced-writer',
          () => `the log of ${lifetime.key} has ${call} at ${id}, but ${owner} owns it`,
        );
        // An approval request is logged even if its action was announced before.
        const isRequest = event.args?.confirmation_state === 'awaiting_confirmation';
        const isNew = isRequest || !earlier.some((one) => one.action !== undefined);
        expect(isNew, 'doubled-step', () => `the action ${call} is in the log twice`);
      }
      if (observation !== undefined && call !== '')
        expect(
          !earlier.some((one) => one.observation !== undefined),
          'doubled-step',
          () => `the action ${call} has two results`,
        );
      lifetime.events.push(event);
    }
  }

  let rowsNow: ReadonlyMap<number, Row> = rows;
  const rowOf = (key: number) => rowsNow.get(key);

  function checkSaid(after: Row, events: readonly LoggedEvent[]): void {
    const last = events.findLast(isMessage);
    if (last !== undefined)
      expect(
        after.said >= last.id + 1,
        'said-and-heard',
        () => `${after.key}: message ${last.id}, said ${after.said}`,
      );
  }

  interface Demand {
    readonly row: Row;
    readonly events: readonly LoggedEvent[];
    /** The new status; null for a deletion; undefined if it has not changed. */
    readonly status: ConversationStatus | null | undefined;
    readonly asks: number | null;
    readonly waits: boolean;
  }

  function checkOutbox({ row, events, status, asks, waits }: Demand, found: readonly StoredDelivery[]): void {
    const own = found.filter(({ conversation_key: key }) => key === row.key);
    const show = () =>
      `${row.key}: events ${events.map(({ id }) => id).join(',')}, status ${status}, question ${asks}, waits ${waits}; deliveries ${own.map(({ type, event_id }) => `${type} ${event_id}`).join(', ')}`;
    const wanted = [
      ...(status === undefined ? [] : [`conversation.status null`]),
      ...events.map(({ id }) => `conversation.event ${id}`),
      ...(asks === null ? [] : [`conversation.waiting ${asks}`]),
      ...(waits && asks === null ? [`conversation.waiting ${row.next_event - 1}`] : []),
    ];
    const got = own.map(({ type, event_id }) => `${type} ${event_id}`);
    expect(wanted.sort().join() === got.sort().join(), 'outbox', show);
    if (status !== undefined) {
      const payload = own.find(({ type }) => type === 'conversation.status')?.payload ?? '{}';
      expect(JSON.parse(payload).status === status, 'outbox', () => `${show()}: ${payload}`);
    }
    for (const { id, type, event_id: eventId } of own)
      demanded.push({ id, type, eventId, lifetime: current.get(row.key) });
  }

  function checkChanges(
    row: Row,
    status: ConversationStatus | null | undefined,
    texts: readonly string[],
  ): void {
    if (status === undefined) return;
    const own = texts.map((text) => JSON.parse(text)).filter((one) => one.conversation_id === row.id);
    expect(
      own.length === 1 && own[0].status === status,
      'changes',
      () => `${row.key} became ${status}, and its user is told ${JSON.stringify(own)}`,
    );
  }

  /** Whether the step ends a turn after which the conversation waits for its user. */
  function waitsAfter(name: string, input: unknown, before: Row | undefined, after: Row): boolean {
    if (name !== 'runtime.record' || before === undefined) return false;
    const { waitsForAnswer, to } = input as { waitsForAnswer?: boolean; to?: string };
    const isChange = to !== undefined && to !== before.status;
    return waitsForAnswer === true && !isChange && agentStateOf(after) === 'awaiting_user_input';
  }

  function check(name: string, input: unknown): void {
    checkAnswer(name, input);
    const after = readRows();
    const demandedBefore = demanded.length;
    rowsNow = after;
    const deliveries = hasWebhook
      ? store.select<StoredDelivery>(
          'select id, webhook_id, type, event_id, conversation_key, payload from deliveries where id > ?',
          newestDelivery,
        )
      : [];
    const changes = readChanges();
    for (const [key, row] of rows) {
      const now = after.get(key);
      if (now !== undefined) continue;
      const lifetime = current.get(key);
      if (lifetime !== undefined) lifetime.isDeleted = true;
      current.delete(key);
      expect(name === 'lifecycle.delete', 'lost-row', () => `${name} removed ${key}`);
      if (hasWebhook) checkOutbox({ row, events: [], status: null, asks: null, waits: false }, deliveries);
      checkChanges(row, null, changes);
    }
    for (const [key, row] of after) {
      const before = rows.get(key);
      if (before !== undefined && isSame(before, row)) continue;
      if (before === undefined) {
        const lifetime = {
          key,
          userId: row.user_id,
          id: row.id,
          events: [],
          runs: [],
          told: new Map(),
          isDeleted: false,
        };
        lifetimes.push(lifetime);
        current.set(key, lifetime);
      }
      checkOwnership(name, input, before, row);
      machines.noteRow(before, row);
      checkStatus(before, row);
      checkProgress(before, row);
      const events = readNewEvents(before, row);
      if (events.length > 0) world.note(() => `  log of ${key}: ${events.map(describeEvent).join(', ')}`);
      const lifetime = current.get(key);
      if (lifetime !== undefined) checkWriters(lifetime, events);
      checkSaid(row, events);
      const status = before?.status === row.status ? undefined : row.status;
      checkChanges(row, status, changes);
      if (!hasWebhook) continue;
      const asks = row.question !== null && row.question !== before?.question ? row.question : null;
      const waits = waitsAfter(name, input, before, row);
      checkOutbox({ row, events, status, asks, waits }, deliveries);
    }
    expect(
      deliveries.length === demanded.length - demandedBefore,
      'outbox',
      () => `${name} created deliveries of other conversations`,
    );
    rows = after;
  }

  return {
    lifetimes,
    rows: () => rows,
    lifetimeOf: (key) => current.get(key),
    demanded,
    machines,
    before: () => {
      changesBefore = store.changes();
      if (hasWebhook) newestDelivery = findNewestDelivery();
    },
    after: ({ name }: AnyTransaction, input) => {
      const changes = store.changes() - changesBefore;
      if (name === 'nodes.register')
        machines.noteHeartbeat(input as Parameters<MachineCheck['noteHeartbeat']>[0]);
      if (name === 'nodes.remove') machines.noteEnd(input as string);
      checkFence(name, input, name === 'runtime.claim' ? 0 : changes);
      if (changes > 0) check(name, input);
    },
    checkOwner: ({ key, runId }, what) => {
      const row = store.select<Row>(`${selectRows} where key = ?`, key)[0];
      // A deleted conversation has no owner any more, and its key may belong to another one.
      if (row === undefined || claimed.get(runId) !== current.get(key)) return;
      expect(row.run_id === runId, 'one-owner', () => `${runId} ${what}, but ${row.run_id} owns ${key}`);
    },
    noteReceived: (runId, { fresh, repeated }) => {
      const told = claimed.get(runId)?.told ?? new Map<string, Told>();
      const countOf = (token: string) => told.get(token) ?? { fresh: 0, repeated: 0 };
      for (const token of fresh) {
        const count = countOf(token);
        told.set(token, { ...count, fresh: count.fresh + 1 });
        expect(
          count.fresh === 0,
          'doubled-message',
          () => `an agent was given ${token} as a new message twice`,
        );
      }
      for (const token of repeated)
        told.set(token, { ...countOf(token), repeated: countOf(token).repeated + 1 });
    },
  };
}

/** The messages of the user in a log, with their event ids. */
export function messagesIn({ events }: Lifetime): { id: number; token: string }[] {
  return events
    .filter(isMessage)
    .flatMap(({ id, args }) => tokensIn(args?.content ?? '').map((token) => ({ id, token })));
}
