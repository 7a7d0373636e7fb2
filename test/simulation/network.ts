// The network between clients and processes: requests may get lost, take long, arrive twice, or be answered to nobody.
import { AppError } from '../../src/errors.ts';
import type { Services, SimProcess } from './processes.ts';
import type { World } from './world.ts';

/** What a client knows after a request. */
export type Answer<Value> =
  | { readonly outcome: 'ok'; readonly value: Value }
  /** The service says that nothing was stored. */
  | { readonly outcome: 'refused'; readonly code: string }
  /** Nobody knows whether it was stored. */
  | { readonly outcome: 'unknown' };

export interface NetworkFaults {
  /** The request never arrives. */
  readonly lostRequest: number;
  /** It is carried out, and the client gets no answer. */
  readonly lostAnswer: number;
  /** It arrives a second time, anywhere and later. */
  readonly doubled: number;
}

export const goodNetwork: NetworkFaults = { lostRequest: 0, lostAnswer: 0, doubled: 0 };

export type Call<Value> = (services: Services) => Promise<Value>;

interface NetworkOptions {
  readonly world: World;
  /** The processes that are up. */
  readonly processes: () => readonly SimProcess[];
  readonly faults: () => NetworkFaults;
}

const timeoutMs = 12_000;
const doubledMsMax = 8_000;

export interface Network {
  /** Whether no second copy is on its way any more. */
  isQuiet(): boolean;
  /** Sends a request, which may arrive twice if `onDoubled` is given. Never rejects. */
  request<Value>(what: string, call: Call<Value>, onDoubled?: () => void): Promise<Answer<Value>>;
}

export function createNetwork({ world, processes, faults }: NetworkOptions): Network {
  const random = world.random.fork('network');
  let copies = 0;

  function pickProcess(): SimProcess | undefined {
    const up = processes().filter(({ actor, services }) => actor.isAlive && services !== undefined);
    return up.length === 0 ? undefined : random.pick(up);
  }

  /** Carries the request out in a process, and calls back there when it is done. */
  function carryOut<Value>(
    call: Call<Value>,
    onAnswer: (answer: Answer<Value>) => void,
  ): SimProcess | undefined {
    const process = pickProcess();
    if (process?.services === undefined) return undefined;
    const { services } = process;
    world.after(random.between(0, 5), process.actor, () => {
      call(services).then(
        (value) => onAnswer({ outcome: 'ok', value }),
        (error: unknown) => {
          if (!(error instanceof AppError)) throw error;
          onAnswer(
            error.code === 'outcome_unknown'
              ? { outcome: 'unknown' }
              : { outcome: 'refused', code: error.code },
          );
        },
      );
    });
    return process;
  }

  function request<Value>(what: string, call: Call<Value>, onDoubled?: () => void): Promise<Answer<Value>> {
    const { lostRequest, lostAnswer, doubled } = faults();
    const isLost = random.chance(lostRequest);
    const isAnswerLost = random.chance(lostAnswer);
    const isDoubled = onDoubled !== undefined && random.chance(doubled);
    return new Promise((resolve) => {
      const answer = (given: Answer<Value>) => {
        world.note(() => `client: ${what} is answered with ${JSON.stringify(given)}`);
        resolve(given);
      };
      world.after(random.between(1, 30), undefined, () => {
        world.note(() => `client: ${what}${isLost ? ' is lost' : ''}${isDoubled ? ' is doubled' : ''}`);
        if (isDoubled) {
          onDoubled?.();
          copies += 1;
          world.after(random.between(0, doubledMsMax), undefined, () => {
            carryOut(call, () => {});
            // It has certainly arrived and been carried out a second later, if all faults have ended.
            world.after(1_000, undefined, () => (copies -= 1));
          });
        }
        world.after(timeoutMs, undefined, () => resolve({ outcome: 'unknown' }));
        if (isLost) return;
        const process = carryOut(call, (given) => {
          if (!isAnswerLost) world.after(random.between(1, 30), undefined, () => answer(given));
        });
        if (process === undefined) answer({ outcome: 'refused', code: 'connection_refused' });
      });
    });
  }

  return { request, isQuiet: () => copies === 0 };
}
