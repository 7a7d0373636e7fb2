// The panel beside the timeline: plan, changed files, usage and repository.
import type { ReactNode } from 'react';
import type { ConversationInfo } from '../../../../src/client/parley.ts';
import { visibleLine } from '../../components/visibleText.ts';
import { useLocale } from '../../texts/texts.tsx';
import { countText, dollarText, fullText } from '../../texts/time.ts';
import { PlanView } from '../content/PlanView.tsx';
import type { LogState } from '../items.ts';
import { Changes } from './Changes.tsx';

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Usage({ info, state }: { readonly info: ConversationInfo; readonly state: LogState }) {
  const { texts, language } = useLocale();
  const { details } = texts;
  const { usage } = info;
  const count = (value: number) => countText(value, language);
  return (
    <section>
      <h2>{details.usage}</h2>
      <dl className="facts">
        <Fact name={details.cost}>{dollarText(usage.cost_usd, language)}</Fact>
        <Fact name={details.requests}>{count(usage.requests)}</Fact>
        <Fact name={details.input}>{count(usage.input_tokens)}</Fact>
        <Fact name={details.output}>{count(usage.output_tokens)}</Fact>
        {usage.cache_read_tokens > 0 ? (
          <Fact name={details.cached}>{count(usage.cache_read_tokens)}</Fact>
        ) : null}
        {state.context === undefined ? null : (
          <Fact name={details.context}>
            {details.contextOf(count(state.context.used), count(state.context.size))}
            <meter max={state.context.size} value={state.context.used} aria-label={details.context} />
          </Fact>
        )}
      </dl>
    </section>
  );
}

interface DetailsProps {
  readonly id: string;
  /** The id of the element. */
  readonly elementId: string;
  readonly info: ConversationInfo | undefined;
  readonly state: LogState;
}

export function Details({ id, elementId, info, state }: DetailsProps) {
  const { texts, language } = useLocale();
  const { details } = texts;
  return (
    <aside className="details" id={elementId} aria-label={details.title}>
      {state.tasks.length === 0 ? null : (
        <section>
          <h2>{details.plan}</h2>
          <PlanView tasks={state.tasks} />
        </section>
      )}
      <Changes id={id} agentState={state.agentState} />
      {info === undefined ? null : (
        <>
          <Usage info={info} state={state} />
          <section>
            <h2>{details.title}</h2>
            <dl className="facts">
              {info.agent ? <Fact name={details.agent}>{visibleLine(info.agent)}</Fact> : null}
              {info.llm_model ? <Fact name={details.model}>{visibleLine(info.llm_model)}</Fact> : null}
              {info.selected_repository === null ? null : (
                <Fact name={details.repository}>{visibleLine(info.selected_repository)}</Fact>
              )}
              {info.selected_branch === null ? null : (
                <Fact name={details.branch}>{visibleLine(info.selected_branch)}</Fact>
              )}
              <Fact name={details.created}>{fullText(info.created_at, language)}</Fact>
            </dl>
          </section>
        </>
      )}
    </aside>
  );
}
