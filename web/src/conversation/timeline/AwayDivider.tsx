// The line above what the user has not seen yet, with a summary of it.
import { useLocale } from '../../texts/texts.tsx';
import { fullText } from '../../texts/time.ts';
import type { Row } from './rows.ts';

export function AwayDivider({ row }: { readonly row: Extract<Row, { kind: 'away' }> }) {
  const { texts, language } = useLocale();
  const work = texts.timeline.awayWork(row.summary);
  return (
    <div className="away" title={fullText(row.at, language)}>
      <p>
        <strong>{texts.timeline.whileAway}</strong>
        {work === '' ? null : <span>{work}</span>}
      </p>
    </div>
  );
}
