// How a conversation stands, in one word and a colour.
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { useTexts } from '../texts/texts.tsx';

/** Ends that are no fault. */
const goodEnds: ReadonlySet<string> = new Set(['user', 'finished', 'idle', 'shutdown']);

type Standing = Pick<ConversationInfo, 'status' | 'stop_reason'>;

export function isFailed({ status, stop_reason }: Standing): boolean {
  return status === 'STOPPED' && stop_reason !== null && !goodEnds.has(stop_reason.code);
}

/** What the agent does, where that is known. */
export type Activity = 'working' | 'waiting' | 'asking';

export function StatusBadge({
  info,
  activity,
}: {
  readonly info: Standing;
  readonly activity?: Activity | undefined;
}) {
  const { status: texts } = useTexts();
  if (isFailed(info)) return <span className="badge failed">{texts.failed}</span>;
  if (info.status === 'STARTING') return <span className="badge starting busy">{texts.STARTING}</span>;
  if (info.status === 'STOPPED') return <span className="badge">{texts.STOPPED}</span>;
  const shown = activity === undefined ? texts.RUNNING : texts[activity];
  const look = activity === 'asking' ? 'waiting' : activity === 'waiting' ? 'running' : 'running busy';
  return <span className={`badge ${look}`}>{shown}</span>;
}
