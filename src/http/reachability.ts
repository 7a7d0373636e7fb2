// Measures whether this process can reach the others under the URLs that they have registered, as it must for files and
// for text that is being written.

import { AppError } from '../errors.ts';
import type { Principal } from '../keys/principal.ts';
import type { LiveProcess } from '../nodes/store.ts';
import { needs } from './access.ts';
import { discardBody, type ReadAt } from './passOn.ts';
import type { Server } from './routeTable.ts';

const path = '/api/diagnostics/process';
/** How long all of them together may take. */
const measuredMsMax = 5_000;
const answerBytesMax = 4_096;
/** Processes beyond these are not checked. */
const checkedMax = 64;
const checkedAtOnce = 16;

export type Reach = { readonly reachable: boolean | null; readonly fault?: string };
export const notChecked: Reach = { reachable: null };

/** The route that the check asks. Only processes of the cluster can. */
export function processRoute(app: Server, processId: string): void {
  app.get(path, { config: { access: needs('admin') }, schema: { hide: true } }, async ({ isPassedOn }) => {
    if (!isPassedOn) throw new AppError('not_found', 'This path does not exist.');
    return { process_id: processId };
  });
}

async function readAtMost(body: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > answerBytesMax) throw new Error('the answer is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

function describe(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return `there was no answer within ${measuredMsMax / 1_000} s`;
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}

interface Needs {
  readonly processId: string;
  readonly readAt: ReadAt;
}

export function createReachability({ processId: own, readAt }: Needs) {
  async function reach(
    { processId, url }: LiveProcess,
    principal: Principal,
    requestId: string,
    signal: AbortSignal,
  ) {
    try {
      const { statusCode, body } = await readAt(url, path, principal, requestId, signal);
      if (statusCode !== 200) {
        discardBody(body);
        return { reachable: false, fault: `it answered ${statusCode}` };
      }
      const { process_id: answering } = JSON.parse(await readAtMost(body)) as { process_id?: unknown };
      return answering === processId
        ? { reachable: true }
        : { reachable: false, fault: 'another process answers there' };
    } catch (error) {
      return { reachable: false, fault: describe(error, signal) };
    }
  }

  /** In the order of the processes. Null for this one, for those of an older version, and for those for which there was no time. */
  return async (
    processes: readonly LiveProcess[],
    principal: Principal,
    requestId: string,
  ): Promise<Reach[]> => {
    const results = new Map<string, Reach>();
    const signal = AbortSignal.timeout(measuredMsMax);
    const others = processes.filter(
      ({ processId, snapshotStore }) => processId !== own && snapshotStore !== '',
    );
    const waiting = others.slice(0, checkedMax).values();
    const checkSome = async () => {
      for (const other of waiting) {
        if (signal.aborted) return;
        results.set(other.processId, await reach(other, principal, requestId, signal));
      }
    };
    await Promise.all(Array.from({ length: checkedAtOnce }, checkSome));
    return processes.map(({ processId }) => results.get(processId) ?? notChecked);
  };
}
