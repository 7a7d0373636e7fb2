// A plan as a checklist.
import { Icon } from '../components/Icon.tsx';
import { visibleText } from '../components/visibleText.ts';
import { useTexts } from '../texts/texts.tsx';
import type { Task } from './items.ts';

export function PlanView({ tasks }: { readonly tasks: readonly Task[] }) {
  const { items } = useTexts();
  return (
    <ol className="plan">
      {tasks.map(({ title, status }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a plan is told whole, and tasks have no other name
        <li key={i} className={status}>
          <span className="box">{status === 'done' ? <Icon name="check" /> : null}</span>
          <span>
            {visibleText(title)} <span className="hidden">({items.planState[status]})</span>
          </span>
        </li>
      ))}
    </ol>
  );
}
