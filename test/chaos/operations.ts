// Sends the requests of the load and writes down what became of each.
import { until } from '../support/until.ts';
import { type Cluster, type Member, startWithinMs } from './cluster.ts';
import { type Detail, type Operation, type Outcome, ownersIn, type Performed } from './history.ts';
import type { Random } from './random.ts';

/** After so long a client gives up, and cannot know what became of its request. */
const patienceMs = 10_000;
/** The one refusal that leaves open whether the request was carried out. */
const undecidedCode = 'outcome_unknown';

export interface Request {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Reply {
  readonly status: number | null;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers have any shape
  readonly body: any;
  readonly etag: string | null;
}

export interface User {
  readonly name: string;
  readonly key: string;
  readonly hasAgent: boolean;
}

export interface Operations {
  readonly all: readonly Operation[];
  /** Sends it to a process that listens. `learn` puts into the detail what an answer says that is no error. */
  perform<Kind extends Detail>(
    user: User,
    detail: Kind,
    request: Request,
    learn?: (detail: Kind, reply: Reply) => void,
  ): Promise<Performed & Kind>;
}

const noReply: Reply = { status: null, text: '', body: undefined, etag: null };

async function send(url: string, { key }: User, { method, path, json, headers }: Request): Promise<Reply> {
  try {
    const response = await fetch(url + path, {
      method,
      headers: {
        'x-session-api-key': key,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      signal: AbortSignal.timeout(patienceMs),
    });
    const text = await response.text();
    const body = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : undefined;
    return { status: response.status, text, body, etag: response.headers.get('etag') };
  } catch {
    return noReply;
  }
}

function outcomeOf({ status, body }: Reply): Outcome {
  if (status === null || status === 500) return 'unknown';
  if (status < 400) return 'ok';
  return body?.code === undecidedCode ? 'unknown' : 'fail';
}

export function createOperations(cluster: Cluster, random: Random, now: () => number): Operations {
  const all: Operation[] = [];
  let count = 0;

  /** One that listens; a client waits where there is none. */
  function findTarget(): Promise<Member> {
    return until(
      'a process answers requests',
      () => {
        const able = cluster.members.filter((one) => one.answersRequests && one.url() !== undefined);
        return able.length > 0 && random.pick(able);
      },
      startWithinMs,
    );
  }

  return {
    all,
    perform: async (user, detail, request, learn) => {
      const target = await findTarget();
      const n = count++;
      const invokedMs = now();
      const reply = await send(target.url() ?? '', user, request);
      const outcome = outcomeOf(reply);
      if (outcome === 'ok') learn?.(detail, reply);
      const performed: Performed = {
        n,
        user: user.name,
        process: target.name,
        invokedMs,
        endedMs: now(),
        outcome,
        status: reply.status,
        code: outcome === 'ok' ? null : ((reply.body?.code as string | undefined) ?? null),
        owners: ownersIn(reply.text),
      };
      const operation = { ...performed, ...detail };
      all.push(operation);
      return operation;
    },
  };
}
