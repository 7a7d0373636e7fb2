// One conversation, or two side by side. The pane that had the focus last is active: shortcuts, the sidebar and the palette
// apply to it.
import { useEffect, useRef } from 'react';
import { Conversation } from '../conversation/Conversation.tsx';
import { useShortcuts } from '../layout/shortcuts.ts';
import { useTexts } from '../texts/texts.tsx';
import { ActivePane, activatePane, usePanes } from './panes.ts';

interface PaneProps {
  readonly id: string;
  readonly index: number;
  readonly isActive: boolean;
  readonly isSplit: boolean;
  readonly focusCount: number;
}

function Pane({ id, index, isActive, isSplit, focusCount }: PaneProps) {
  const { sidebar } = useTexts();
  const pane = useRef<HTMLElement>(null);
  const focused = useRef(focusCount);
  useEffect(() => {
    if (focused.current === focusCount) return;
    focused.current = focusCount;
    if (isActive && !pane.current?.contains(document.activeElement)) pane.current?.focus();
  }, [isActive, focusCount]);
  return (
    <section
      ref={pane}
      className={isActive ? 'pane active' : 'pane'}
      aria-label={isSplit ? sidebar.pane(index + 1) : undefined}
      tabIndex={-1}
      onFocus={() => activatePane(index)}
      onPointerDown={() => activatePane(index)}
    >
      <ActivePane value={isActive}>
        <Conversation id={id} />
      </ActivePane>
    </section>
  );
}

export function ConversationScreen() {
  const { ids, active, focusCount, open } = usePanes();
  const other = ids[1 - active];
  useShortcuts(ids.length > 1 && other !== undefined ? { pane: () => open(other) } : {});
  return (
    <div className={ids.length > 1 ? 'panes split' : 'panes'}>
      {ids.map((id, index) => (
        <Pane
          key={id}
          id={id}
          index={index}
          isActive={index === active}
          isSplit={ids.length > 1}
          focusCount={focusCount}
        />
      ))}
    </div>
  );
}
