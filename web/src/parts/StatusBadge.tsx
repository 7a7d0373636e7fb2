// How a conversation stands, in one word and a colour.
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { useTexts } from '../texts/texts.tsx';

/** Ends that are no fault. */
const goodEnds: ReadonlySet<string> = new Set(['user', 'finished', 'idle', 'shutdown']);

/** Of a conversation, or of a change. */
interface Ending {
  readonly status: ConversationInfo['status'] | null;
  readonly stop_reason: ConversationInfo['stop_reason'];
}

/** Whether it stopped, and nobody asked for it: there is a reason to tell. */
export function endedByItself({ status, stop_reason }: Ending): boolean {
  return status === 'STOPPED' && stop_reason !== null && stop_reason.code !== 'user';
}

/** Whether it stopped for a fault. */
export function endedBadly({ status, stop_reason }: Ending): boolean {
  return status === 'STOPPED' && stop_reason !== null && !goodEnds.has(stop_reason.code);
}

/** What the agent does, where that is known. */
export type Activity = 'working' | 'waiting' | 'asking';

const looks: Readonly<Record<Activity, string>> = {
  working: 'running busy',
  waiting: 'running',
  asking: 'waiting',
};

export function StatusBadge({
  info,
  activity,
}: {
  readonly info: Ending;
  readonly activity?: Activity | undefined;
}) {
  const { status: texts } = useTexts();
  if (endedBadly(info)) return <span className="badge failed">{texts.failed}</span>;
  if (info.status === 'STARTING') return <span className="badge starting busy">{texts.STARTING}</span>;
  if (info.status === 'STOPPED') return <span className="badge">{texts.STOPPED}</span>;
  if (activity === undefined) return <span className="badge running">{texts.RUNNING}</span>;
  return <span className={`badge ${looks[activity]}`}>{texts[activity]}</span>;
}
