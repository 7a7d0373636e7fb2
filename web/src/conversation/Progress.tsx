// Below the timeline: what goes on now, or why nothing does.
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { Icon } from '../parts/Icon.tsx';
import { endedBadly } from '../parts/StatusBadge.tsx';
import { useTexts } from '../texts/texts.tsx';
import type { LogState } from './items.ts';

const steps = [
  'STATUS$WAITING_FOR_WORKER',
  'STATUS$STARTING_RUNTIME',
  'STATUS$SETTING_UP_WORKSPACE',
  'STATUS$STARTING_AGENT',
] as const;

/** The way to the first word of the agent, step by step. */
function Starting({ runtimeStatus }: { readonly runtimeStatus: string | null }) {
  const { conversation } = useTexts();
  const [name = '', ...rest] = (runtimeStatus ?? steps[0]).split(': ');
  const now = (steps as readonly string[]).indexOf(name);
  return (
    <ol className="steps" role="status">
      {steps.map((step, i) => (
        <li key={step} className={i < now ? 'past' : i === now ? 'now' : 'later'}>
          <span className="box">{i === now ? <span className="spinner" /> : null}</span>
          <span>
            {conversation.runtime[step]}
            {i === now && rest.length > 0 ? <span className="quiet mono"> {rest.join(': ')}</span> : null}
          </span>
        </li>
      ))}
    </ol>
  );
}

interface ProgressProps {
  readonly info: ConversationInfo | undefined;
  readonly state: LogState;
  readonly onStart: () => void;
}

export function Progress({ info, state, onStart }: ProgressProps) {
  const { conversation } = useTexts();
  if (info === undefined) return null;
  if (info.status === 'STARTING') return <Starting runtimeStatus={info.runtime_status} />;
  if (info.status === 'STOPPED')
    return (
      <p className={endedBadly(info) ? 'at-work failed' : 'at-work'}>
        <Icon name={endedBadly(info) ? 'alert' : 'stop'} />
        <span>{info.stop_reason?.message ?? conversation.stopped}</span>
        <button type="button" className="button" onClick={onStart}>
          <Icon name="play" />
          {conversation.startAgain}
        </button>
      </p>
    );
  if (state.agentState !== 'running') return null;
  return (
    <p className="at-work" role="status">
      <span className="spinner" /> {conversation.working}
    </p>
  );
}
