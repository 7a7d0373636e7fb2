// The fast lane of an answer that is ready.
import type { Principal } from '../keys/principal.ts';
import type { Scope } from '../keys/schema.ts';
import { commonHeaders } from './commonHeaders.ts';
import type { FastRoute } from './fastLane.ts';
import { type ReadyHead, readyHead, sendReady } from './readyHead.ts';

/** A ready answer; the same object as long as it stays the same. */
export interface ReadyAnswer {
  readonly text: string;
  readonly etag: string;
}

interface FastReadOptions {
  readonly url: string;
  readonly scope: Scope;
  readonly headers: Readonly<Record<string, string>>;
  /** The answer, where it can be given at once. */
  readonly find: (principal: Principal) => ReadyAnswer | undefined;
}

interface Head {
  readonly ready: ReadyHead;
  readonly bytes: number;
}

export function fastRead({ url, scope, headers: own, find }: FastReadOptions): FastRoute {
  const heads = new WeakMap<ReadyAnswer, Head>();

  function headOf(answer: ReadyAnswer): Head {
    let head = heads.get(answer);
    if (head === undefined) {
      const { text, etag } = answer;
      head = { ready: readyHead(200, { ...commonHeaders, ...own, etag }), bytes: Buffer.byteLength(text) };
      heads.set(answer, head);
    }
    return head;
  }

  return {
    method: 'GET',
    url,
    scope,
    bearer: true,
    take: ({ principal, response }, { nextId }) => {
      const answer = find(principal);
      if (answer === undefined) return false;
      const { ready, bytes } = headOf(answer);
      sendReady(response, ready, { text: answer.text, bytes }, nextId());
      return true;
    },
  };
}
