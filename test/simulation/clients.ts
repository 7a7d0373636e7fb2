// The users of a simulated cluster. Each conversation has a client that creates it, talks to it, stops and deletes it,
// and repeats what it got no answer to, as a careful program does.
import type { Principal } from '../../src/keys/principal.ts';
import type { Row } from './checker.ts';
import type { Answer, Call, Network } from './network.ts';
import { type Actor, Violation, type World } from './world.ts';

/** Everything that was sent with one token, whose text is in the log if it was stored. */
export interface Sent {
  readonly token: string;
  readonly kind: 'creation' | 'message';
  readonly userId: number;
  /** What each attempt was answered with: the id of the conversation, or of the event. */
  readonly answers: Answer<string | number>[];
  /** It carries a key or an id, so it may be repeated. */
  readonly isKeyed: boolean;
}

export interface ClientsOptions {
  readonly world: World;
  readonly network: Network;
  readonly conversations: number;
  readonly users: readonly Principal[];
  /** The conversations of all users, as clients would get them from the API. */
  readonly list: () => Iterable<Row>;
  /** The last moment at which a client begins something. */
  readonly until: number;
  readonly confirms: boolean;
}

export interface Clients {
  readonly sent: readonly Sent[];
  /** Whether all clients are done. */
  isDone(): boolean;
  /** Sends one more message to a conversation and repeats it until it is acknowledged. */
  sayLast(userId: number, id: string): Promise<void>;
  /** Answers approval requests from now on. */
  approveAll(): void;
}

const attemptsMax = 4;
const lastAttemptsMax = 30;

export function createClients(options: ClientsOptions): Clients {
  const { world, network, users, list } = options;
  const actor: Actor = { name: 'clients', isAlive: true, pausedUntil: 0 };
  const sent: Sent[] = [];
  let tokens = 0;
  let busy = 0;
  let approvesAll = false;

  const pause = (ms: number) => new Promise<void>((resolve) => world.after(ms, actor, resolve));

  function newSent(kind: Sent['kind'], userId: number, isKeyed: boolean): Sent {
    const one: Sent = { token: `#${++tokens}#`, kind, userId, answers: [], isKeyed };
    sent.push(one);
    return one;
  }

  /** Repeats a request that may be repeated until it is answered. All answers must be the same. */
  async function persist<Value extends string | number>(
    one: Sent,
    what: string,
    call: Call<Value>,
    attempts = attemptsMax,
  ): Promise<Value | undefined> {
    for (let attempt = 0; attempt < (one.isKeyed ? attempts : 1); attempt++) {
      // Nobody gets the answer to the second copy.
      const onDoubled = one.isKeyed ? () => void one.answers.push({ outcome: 'unknown' }) : undefined;
      const answer = await network.request(`${what} ${one.token}`, call, onDoubled);
      one.answers.push(answer);
      if (answer.outcome === 'ok') return answer.value;
      if (answer.outcome === 'refused' && answer.code === 'not_found') return undefined;
      await pause(200 + attempt * 300);
    }
    return undefined;
  }

  async function create(user: Principal, index: number, withId: boolean): Promise<string | undefined> {
    const one = newSent('creation', user.userId, true);
    const body = {
      ...(withId ? { conversation_id: `c${index}` } : {}),
      initial_user_msg: `Begin ${one.token}`,
      ...(options.confirms && index % 2 === 0 ? { confirmation_mode: true } : {}),
      ...(index % 3 === 0 ? { agent: 'opencode' } : {}),
    };
    const context = withId ? {} : { idempotencyKey: `key ${one.token}` };
    const id = await persist(
      one,
      'create',
      async ({ conversations }) => (await conversations.create(user, body, context)).conversation_id,
    );
    if (withId && id !== undefined && id !== body.conversation_id)
      world.fail(new Violation('different-answers', `${body.conversation_id} was created as ${id}`));
    return id;
  }

  async function say(user: Principal, id: string, isKeyed: boolean, attempts?: number): Promise<boolean> {
    const one = newSent('message', user.userId, isKeyed);
    const context = isKeyed ? { idempotencyKey: `key ${one.token}` } : {};
    const event = await persist(
      one,
      `say to ${id}`,
      ({ lifecycle }) => lifecycle.say(user, id, { message: `Go on ${one.token}` }, context),
      attempts,
    );
    return event !== undefined;
  }

  type Doing = readonly [weight: number, name: string, call: (user: Principal, id: string) => Call<unknown>];

  const doings: readonly Doing[] = [
    [3, 'stop', (user, id) => (s) => s.lifecycle.stop(user, id)],
    [2, 'start', (user, id) => (s) => s.lifecycle.start(user, id)],
    [3, 'cancel', (user, id) => (s) => s.cancellations.cancel(user, id)],
    [1, 'ask first', (user, id) => (s) => s.lifecycle.change(user, id, { confirmation_mode: true })],
    [1, 'rename', (user, id) => (s) => s.lifecycle.change(user, id, { title: `Title of ${id}` })],
    [1, 'other agent', (user, id) => (s) => s.lifecycle.change(user, id, { agent: 'opencode' })],
  ];
  const doingsWeight = doings.reduce((sum, [weight]) => sum + weight, 0);

  function pickDoing(): Doing {
    let left = random.between(1, doingsWeight);
    for (const doing of doings) {
      left -= doing[0];
      if (left <= 0) return doing;
    }
    throw new Error('the weights do not add up');
  }

  const random = world.random.fork('clients');

  async function converse(user: Principal, id: string): Promise<boolean> {
    const what = random.next();
    if (what < 0.5) await say(user, id, random.chance(0.7));
    else if (what < 0.94) {
      const [, name, call] = pickDoing();
      await network.request(`${name} ${id}`, call(user, id), () => {});
    } else {
      // Repeated until it is certain, because the client wants to use the id again.
      await network.request(
        `delete ${id}`,
        (s) => s.lifecycle.remove(user, id),
        () => {},
      );
      return false;
    }
    return true;
  }

  async function live(index: number): Promise<void> {
    const user = random.pick(users);
    busy += 1;
    await pause(random.between(0, 6_000));
    while (world.now() < options.until) {
      const withId = random.chance(0.6);
      const id = await create(user, index, withId);
      if (id === undefined) continue;
      while (world.now() < options.until) {
        await pause(random.chance(0.3) ? random.between(0, 300) : random.between(300, 9_000));
        if (world.now() >= options.until) break;
        if (!(await converse(user, id))) break;
      }
    }
    busy -= 1;
  }

  /** The person who answers approval requests. Not always, and sometimes twice. */
  async function approve(): Promise<void> {
    for (;;) {
      await pause(random.between(200, 2_500));
      for (const { user_id: userId, id, question } of list()) {
        const user = users.find((one) => one.userId === userId);
        if (user === undefined || question === null || !(approvesAll || random.chance(0.5))) continue;
        const decision = approvesAll || random.chance(0.7) ? 'allow' : 'reject';
        const isNamed = random.chance(0.5);
        void network.request(
          `confirm ${id} ${question} ${decision}`,
          (s) => s.confirmations.answer(user, id, { decision, ...(isNamed ? { question } : {}) }),
          isNamed ? () => {} : undefined,
        );
      }
    }
  }

  for (let i = 0; i < options.conversations; i++) void live(i);
  void approve();
  return {
    sent,
    isDone: () => busy === 0,
    sayLast: async (userId, id) => {
      const user = users.find((one) => one.userId === userId);
      if (user !== undefined) await say(user, id, true, lastAttemptsMax);
    },
    approveAll: () => {
      approvesAll = true;
    },
  };
}
