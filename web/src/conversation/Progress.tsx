// Below the timeline: what goes on now, or why nothing does.
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { Icon } from '../components/Icon.tsx';
import { stoppedByError } from '../components/status.ts';
import { useTexts } from '../texts/texts.tsx';
import type { Item, LogState } from './items.ts';
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
  readonly items: readonly Item[];
}

/** Whether the timeline ends with the reason. */
function isTold(reason: string, items: readonly Item[]): boolean {
  const last = items.findLast(({ kind }) => kind === 'stopped' || kind === 'error');
  return last !== undefined && 'text' in last && last.text.startsWith(reason);
}

function Stopped({ info, items }: { readonly info: ConversationInfo; readonly items: readonly Item[] }) {
  const { conversation } = useTexts();
  const bad = stoppedByError(info);
  const reason = info.stop_reason?.message ?? conversation.stopped;
  if (isTold(reason, items)) return null;
  return (
    <p className={bad ? 'at-work failed' : 'at-work'}>
      <Icon name={bad ? 'alert' : 'stop'} />
      <span>{reason}</span>
    </p>
  );
}

function Shown(props: ProgressProps) {
  const { conversation } = useTexts();
  const { info, state } = props;
  if (info === undefined) return null;
  if (info.status === 'STARTING') return <Starting info={info} />;
  if (info.status === 'STOPPED') return <Stopped info={info} items={props.items} />;
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
