// The plan of an agent, as a checklist.
import { Icon } from '../../components/Icon.tsx';
import { visibleText } from '../../components/visibleText.ts';
import { useTexts } from '../../texts/texts.tsx';
import type { Task } from '../items.ts';

export function PlanView({ tasks }: { readonly tasks: readonly Task[] }) {
  const { items } = useTexts();
  return (
    <ol className="plan">
      {tasks.map(({ title, status }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: tasks have no id, and a plan is replaced as a whole
        <li key={i} className={status}>
          <span className="step-box">{status === 'done' ? <Icon name="check" /> : null}</span>
          <span>
            {visibleText(title)} <span className="visually-hidden">({items.planState[status]})</span>
          </span>
        </li>
      ))}
    </ol>
  );
}
