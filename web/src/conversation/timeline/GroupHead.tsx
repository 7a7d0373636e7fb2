// The head of a run of tool calls, which opens and folds it.
import { memo } from 'react';
import { Icon } from '../../components/Icon.tsx';
import { useLocale } from '../../texts/texts.tsx';
import { clockText, fullText } from '../../texts/time.ts';
import type { Row } from './rows.ts';

interface GroupHeadProps {
  readonly group: Extract<Row, { kind: 'group' }>;
  readonly onToggle: (id: number) => void;
}

export const GroupHead = memo(function GroupHead({ group, onToggle }: GroupHeadProps) {
  const { texts, language } = useLocale();
  const { summary, isOpen, id, at } = group;
  const { addedLines, removedLines, failed } = summary;
  return (
    <button type="button" className="group-head" aria-expanded={isOpen} onClick={() => onToggle(id)}>
      <Icon name="chevron" />
      <span className="group-work">{texts.timeline.work(summary)}</span>
      {addedLines + removedLines === 0 ? null : (
        <span className="counts">
          <span className="plus">+{addedLines}</span> <span className="minus">−{removedLines}</span>
        </span>
      )}
      {failed === 0 ? null : <span className="outcome bad">{texts.timeline.failed(failed)}</span>}
      <time className="on-hover" dateTime={at} title={fullText(at, language)}>
        {clockText(at, language)}
      </time>
    </button>
  );
});
