// What the user is told of the model: each sentence once for a message of theirs, and so many at most. Any program inside
// can make requests that go wrong, as fast as it likes.

const noticesPerTurnMax = 20;
const leftOut = 'There is more to tell of the model; it is left out until your next message.';

export type Notify = (sentence: string, isFault: boolean) => void;

export interface Notices {
  /** A message of the user: what was told before may be told again. */
  beginTurn(): void;
  tell: Notify;
  /** What does not change with the next message: told once for all. */
  tellOnce(sentence: string): void;
}

export function createNotices(notify: Notify): Notices {
  const forGood = new Set<string>();
  const told = new Set<string>();

  function tell(sentence: string, isFault: boolean): void {
    if (told.has(sentence) || told.size > noticesPerTurnMax) return;
    const isRoom = told.size < noticesPerTurnMax;
    told.add(sentence);
    notify(isRoom ? sentence : leftOut, isRoom && isFault);
  }

  return {
    beginTurn: () => told.clear(),
    tell,
    tellOnce: (sentence) => {
      if (forGood.has(sentence)) return;
      forGood.add(sentence);
      notify(sentence, false);
    },
  };
}
