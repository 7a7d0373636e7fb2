// Below the timeline: what goes on now, or why nothing does.
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { Icon } from '../parts/Icon.tsx';
import { endedBadly } from '../parts/status.ts';
import { useTexts } from '../texts/texts.tsx';
import type { LogState } from './items.ts';
import { standingText, startStep, startSteps } from './standing.ts';

/** The way to the first word of the agent, step by step. */
function Starting({ info }: { readonly info: ConversationInfo }) {
  const { conversation } = useTexts();
  const { index: now, details } = startStep(info);
  return (
    <ol className="steps">
      {startSteps.map((step, i) => (
        <li key={step} className={i < now ? 'past' : i === now ? 'now' : 'later'}>
          <span className="box">{i === now ? <span className="spinner" /> : null}</span>
          <span>
            {conversation.runtime[step]}
            {i === now && details !== '' ? <span className="quiet mono"> {details}</span> : null}
          </span>
        </li>
      ))}
    </ol>
  );
}

interface ProgressProps {
  readonly info: ConversationInfo | undefined;
  readonly state: LogState;
  readonly busy: boolean;
  readonly onStart: () => void;
}

function Stopped({ info, busy, onStart }: ProgressProps & { readonly info: ConversationInfo }) {
  const { conversation } = useTexts();
  const bad = endedBadly(info);
  return (
    <p className={bad ? 'at-work failed' : 'at-work'}>
      <Icon name={bad ? 'alert' : 'stop'} />
      <span>{info.stop_reason?.message ?? conversation.stopped}</span>
      <button type="button" className="button" disabled={busy} onClick={onStart}>
        {busy ? <span className="spinner" /> : <Icon name="play" />}
        {conversation.startAgain}
      </button>
    </p>
  );
}

function Shown(props: ProgressProps) {
  const { conversation } = useTexts();
  const { info, state } = props;
  if (info === undefined) return null;
  if (info.status === 'STARTING') return <Starting info={info} />;
  if (info.status === 'STOPPED') return <Stopped {...props} info={info} />;
  if (state.agentState !== 'running') return null;
  return (
    <p className="at-work">
      <span className="spinner" /> {conversation.working}
    </p>
  );
}

/** Whoever does not see it is told in one place, which is always there: readers hear only of what changes in one. */
export function Progress(props: ProgressProps) {
  const texts = useTexts();
  return (
    <>
      <p className="hidden" role="status">
        {standingText(props.info, props.state, texts)}
      </p>
      <Shown {...props} />
    </>
  );
}
