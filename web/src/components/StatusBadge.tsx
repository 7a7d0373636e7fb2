// The status of a conversation, as a coloured badge.
import { useTexts } from '../texts/texts.tsx';
import { type Activity, type StopInfo, stoppedByError } from './status.ts';

const classNames: Readonly<Record<Activity, string>> = {
  running: 'running busy',
  waiting: 'waiting',
  needsApproval: 'needs-approval',
};

interface BadgeProps {
  readonly info: StopInfo;
  readonly activity: Activity | undefined;
}

export function StatusBadge({ info, activity }: BadgeProps) {
  const { status: texts } = useTexts();
  if (stoppedByError(info)) return <span className="badge failed">{texts.failed}</span>;
  if (info.status === 'STARTING') return <span className="badge starting busy">{texts.STARTING}</span>;
  if (info.status === 'STOPPED') return <span className="badge stopped">{texts.STOPPED}</span>;
  if (activity === undefined) return <span className="badge running">{texts.RUNNING}</span>;
  return <span className={`badge ${classNames[activity]}`}>{texts[activity]}</span>;
}
