// The status line below the timeline: what is in progress, or why the conversation stopped.
import type { ConversationInfo } from '../../../../src/client/parley.ts';
import { Icon } from '../../components/Icon.tsx';
import { stoppedByError } from '../../components/status.ts';
import { useTexts } from '../../texts/texts.tsx';
import type { Item, LogState } from '../items.ts';
import { startStep, startSteps, statusText } from './statusText.ts';

/** The steps of a start, with the current one marked. */
function StartSteps({ info }: { readonly info: ConversationInfo }) {
  const { conversation } = useTexts();
  const { index: current, details } = startStep(info);
  return (
    <ol className="steps">
      {startSteps.map((step, i) => (
        <li key={step} className={i < current ? 'done' : i === current ? 'current' : 'todo'}>
          <span className="step-box">{i === current ? <span className="spinner" /> : null}</span>
          <span>
            {conversation.runtime[step]}
            {i === current && details !== '' ? <span className="muted mono"> {details}</span> : null}
          </span>
        </li>
      ))}
    </ol>
  );
}

interface StatusLineProps {
  readonly info: ConversationInfo | undefined;
  readonly state: LogState;
  readonly items: readonly Item[];
}

/** Whether the timeline already shows the reason. */
function isShownInTimeline(reason: string, items: readonly Item[]): boolean {
  const last = items.findLast(({ kind }) => kind === 'stopped' || kind === 'error');
  return last !== undefined && 'text' in last && last.text.startsWith(reason);
}

function Stopped({ info, items }: { readonly info: ConversationInfo; readonly items: readonly Item[] }) {
  const { conversation } = useTexts();
  const failed = stoppedByError(info);
  const reason = info.stop_reason?.message ?? conversation.stopped;
  if (isShownInTimeline(reason, items)) return null;
  return (
    <p className={failed ? 'status-line failed' : 'status-line'}>
      <Icon name={failed ? 'alert' : 'stop'} />
      <span>{reason}</span>
    </p>
  );
}

function VisibleStatus(props: StatusLineProps) {
  const { conversation } = useTexts();
  const { info, state } = props;
  if (info === undefined) return null;
  if (info.status === 'STARTING') return <StartSteps info={info} />;
  if (info.status === 'STOPPED') return <Stopped info={info} items={props.items} />;
  if (state.agentState !== 'running') return null;
  return (
    <p className="status-line">
      <span className="spinner" /> {conversation.running}
    </p>
  );
}

/** The hidden status is always rendered: screen readers announce only changes of an existing element. */
export function StatusLine(props: StatusLineProps) {
  const texts = useTexts();
  return (
    <>
      <p className="visually-hidden" role="status">
        {statusText(props.info, props.state, texts)}
      </p>
      <VisibleStatus {...props} />
    </>
  );
}
