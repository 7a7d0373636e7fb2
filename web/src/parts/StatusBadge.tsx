// How a conversation stands, in one word and a colour.
import { useTexts } from '../texts/texts.tsx';
import { type Activity, type Ending, endedBadly } from './status.ts';

const looks: Readonly<Record<Activity, string>> = {
  working: 'working busy',
  waiting: 'waiting',
  asking: 'asking',
};

interface BadgeProps {
  readonly info: Ending;
  /** Where it is known. */
  readonly activity: Activity | undefined;
}

export function StatusBadge({ info, activity }: BadgeProps) {
  const { status: texts } = useTexts();
  if (endedBadly(info)) return <span className="badge failed">{texts.failed}</span>;
  if (info.status === 'STARTING') return <span className="badge starting busy">{texts.STARTING}</span>;
  if (info.status === 'STOPPED') return <span className="badge stopped">{texts.STOPPED}</span>;
  if (activity === undefined) return <span className="badge working">{texts.RUNNING}</span>;
  return <span className={`badge ${looks[activity]}`}>{texts[activity]}</span>;
}
