// One row of the timeline.
import { memo } from 'react';
import { IsRevealed, ItemId } from '../content/itemFlags.ts';
import { keyOf } from '../items.ts';
import { AwayDivider } from './AwayDivider.tsx';
import { GroupHead } from './GroupHead.tsx';
import { ItemToolbar } from './ItemToolbar.tsx';
import { ItemView } from './ItemView.tsx';
import type { Row } from './rows.ts';

interface RowViewProps {
  readonly row: Row;
  readonly isRevealed: boolean;
  /** Opens or folds a group. */
  readonly onToggle: (id: number) => void;
}

export const RowView = memo(function RowView({ row, isRevealed, onToggle }: RowViewProps) {
  switch (row.kind) {
    case 'group':
      return <GroupHead group={row} onToggle={onToggle} />;
    case 'away':
      return <AwayDivider row={row} />;
    case 'item':
      return (
        <div className={row.isInGroup ? 'timeline-entry in-group' : 'timeline-entry'}>
          <ItemId value={keyOf(row.item)}>
            <IsRevealed value={isRevealed}>
              <ItemView item={row.item} />
            </IsRevealed>
          </ItemId>
          <ItemToolbar item={row.item} />
        </div>
      );
  }
});
