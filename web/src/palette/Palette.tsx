// The palette: goes to a conversation by its title or by what was said, and runs commands, all by keyboard.
import { type KeyboardEvent, type ReactNode, useEffect, useId, useMemo, useRef, useState } from 'react';
import { Icon, type IconName } from '../components/Icon.tsx';
import { visibleLine } from '../components/visibleText.ts';
import { usePanes } from '../panes/panes.ts';
import { Marked } from '../sidebar/MessageMatches.tsx';
import { useTexts } from '../texts/texts.tsx';
import { useConversationCommands, useGlobalCommands } from './commands.ts';
import { useFoundConversations } from './conversations.ts';
import { matchesWords } from './words.ts';

interface Item {
  readonly id: string;
  readonly icon: IconName;
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly keys?: string | undefined;
  readonly run: () => void;
  /** What Ctrl+Enter does instead. */
  readonly runBeside?: () => void;
}

interface ItemGroup {
  readonly label: string;
  readonly items: readonly Item[];
}

function useGroups(text: string, onHelp: () => void) {
  const { palette } = useTexts();
  const { open, openBeside } = usePanes();
  const actions = useConversationCommands();
  const commands = useGlobalCommands(onHelp);
  const { titles, messages, isSearching } = useFoundConversations(text);
  const opens = (id: string, eventId?: number) => ({
    run: () => open(id, eventId),
    runBeside: () => openBeside(id),
  });
  const all: ItemGroup[] = [
    { label: palette.openConversation, items: actions.filter(({ label }) => matchesWords(label, text)) },
    {
      label: palette.conversations,
      items: titles.map(({ conversation_id: id, title, selected_repository: repository }) => ({
        id: `conversation.${id}`,
        icon: 'chat',
        label: visibleLine(title),
        hint: repository === null ? undefined : visibleLine(repository),
        ...opens(id),
      })),
    },
    {
      label: palette.messages,
      items: messages.map(({ conversation_id: id, title, matches: [match] }) => ({
        id: `message.${id}`,
        icon: 'search',
        label: visibleLine(title),
        hint: <Marked text={match?.snippet ?? ''} ranges={match?.ranges ?? []} />,
        ...opens(id, match?.event_id),
      })),
    },
    { label: palette.commands, items: commands.filter(({ label }) => matchesWords(label, text)) },
  ];
  return { groups: all.filter(({ items }) => items.length > 0), isSearching };
}

const steps: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at - 1 + count) % count,
  PageDown: (at, count) => Math.min(at + 8, count - 1),
  PageUp: (at) => Math.max(at - 8, 0),
};

interface OptionProps {
  readonly item: Item;
  readonly elementId: string;
  readonly isSelected: boolean;
  readonly onRun: (item: Item, isBeside: boolean) => void;
}

function Option({ item, elementId, isSelected, onRun }: OptionProps) {
  const option = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isSelected) option.current?.scrollIntoView({ block: 'nearest' });
  }, [isSelected]);
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field, which names the selected option
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
    <div
      ref={option}
      id={elementId}
      role="option"
      aria-selected={isSelected}
      className="palette-option"
      onClick={(event) => onRun(item, event.ctrlKey || event.metaKey)}
    >
      <Icon name={item.icon} />
      <span className="label">{item.label}</span>
      {item.hint === undefined ? null : <span className="hint">{item.hint}</span>}
      {item.keys === undefined ? null : <kbd>{item.keys}</kbd>}
    </div>
  );
}

interface PaletteProps {
  readonly onHelp: () => void;
  readonly onClose: () => void;
}

export function Palette({ onHelp, onClose }: PaletteProps) {
  const { palette } = useTexts();
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [selectedId, setSelectedId] = useState<string>();
  const listId = useId();
  const { groups, isSearching } = useGroups(text.trim(), onHelp);
  const items = useMemo(() => groups.flatMap((group) => group.items), [groups]);
  const at = Math.max(
    0,
    items.findIndex(({ id }) => id === selectedId),
  );
  const optionId = (id: string) => `${listId}.${id}`;
  const selected = items[at];

  useEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    return () => {
      shown?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);

  function run(item: Item, isBeside: boolean): void {
    onClose();
    // After the focus has returned to where it was, because the action may move it.
    setTimeout((isBeside ? item.runBeside : undefined) ?? item.run);
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.nativeEvent.isComposing) return;
    const step = steps[event.key];
    if (step !== undefined && items.length > 0) {
      event.preventDefault();
      setSelectedId(items[step(at, items.length)]?.id);
    } else if (event.key === 'Enter' && selected !== undefined) {
      event.preventDefault();
      run(selected, event.ctrlKey || event.metaKey);
    }
  }

  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label={palette.title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => event.target === dialog.current && onClose()}
    >
      <div className="palette-content">
        <div className="palette-field">
          <Icon name="search" />
          <input
            type="text"
            role="combobox"
            aria-label={palette.title}
            aria-expanded="true"
            aria-controls={listId}
            aria-autocomplete="list"
            aria-activedescendant={selected === undefined ? undefined : optionId(selected.id)}
            autoComplete="off"
            spellCheck={false}
            placeholder={palette.placeholder}
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              setSelectedId(undefined);
            }}
            onKeyDown={onKeyDown}
          />
          {isSearching ? <span className="spinner" /> : null}
        </div>
        <div id={listId} role="listbox" aria-label={palette.title} className="palette-list">
          {groups.map(({ label, items: offered }) => (
            // biome-ignore lint/a11y/useSemanticElements: a listbox groups its options like this
            <div key={label} role="group" aria-label={label}>
              <div className="palette-heading" role="presentation">
                {label}
              </div>
              {offered.map((item) => (
                <Option
                  key={item.id}
                  item={item}
                  elementId={optionId(item.id)}
                  isSelected={item === selected}
                  onRun={run}
                />
              ))}
            </div>
          ))}
        </div>
        <p className={items.length === 0 ? 'palette-empty' : 'visually-hidden'} role="status">
          {items.length === 0 && !isSearching ? palette.nothing : ''}
        </p>
        <p className="palette-hint">{palette.hint}</p>
      </div>
    </dialog>
  );
}
