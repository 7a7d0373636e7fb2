// The sidebar: all conversations with their live states, search, filters, and the way to everything else.
import { type ReactNode, useCallback, useMemo, useRef } from 'react';
import { Link, useLocation } from 'wouter';
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { Icon } from '../components/Icon.tsx';
import { IconButton } from '../components/IconButton.tsx';
import { needsUser, stateOf } from '../components/status.ts';
import { getPreferences, setPreferences, usePreferences } from '../layout/preferences.ts';
import { useShortcuts } from '../layout/shortcuts.ts';
import { usePanes } from '../panes/panes.ts';
import { useLocale, useTexts } from '../texts/texts.tsx';
import { ConversationDialog } from './ConversationDialog.tsx';
import { ConversationGroups, moveBetweenRows } from './ConversationGroups.tsx';
import { Filters } from './Filters.tsx';
import { groupConversations, neighbour, nextForUser } from './groups.ts';
import { useListChoice, useSidebarList } from './lists.ts';
import { MessageMatches } from './MessageMatches.tsx';
import { Resizer } from './Resizer.tsx';
import { type Mark, useRowActions } from './rowActions.ts';
import { useDebounced, useMinute } from './timing.ts';

function toggleSidebar(): void {
  setPreferences({ sidebarCollapsed: !getPreferences().sidebarCollapsed });
}

/** The conversation of the focused row, or else the open one. */
function targetOf(known: readonly ConversationInfo[], activeId: string | undefined) {
  const row = document.activeElement?.closest<HTMLElement>('[data-conversation]');
  const id = row?.dataset['conversation'] ?? activeId;
  return known.find(({ conversation_id }) => conversation_id === id);
}

function useSidebar() {
  const { texts, language } = useLocale();
  const { grouping, pinnedFirst } = usePreferences();
  const { choice, choose } = useListChoice();
  const panes = usePanes();
  const text = useDebounced(choice.text.trim());
  const { list, conversations, known } = useSidebarList(choice.view, text);
  const minute = useMinute();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the groups depend on the day
  const groups = useMemo(
    () =>
      groupConversations(conversations, {
        grouping,
        pinnedFirst,
        texts: texts.sidebar,
        language,
        now: new Date(),
      }),
    [conversations, grouping, pinnedFirst, texts, language, minute],
  );
  return { choice, choose, panes, text, list, known, groups, minute };
}

/** Keys that go to another conversation, and those that mark one. */
function useSidebarShortcuts(
  { panes, known, groups }: Pick<ReturnType<typeof useSidebar>, 'panes' | 'known' | 'groups'>,
  toggle: (info: ConversationInfo, what: Mark) => unknown,
  focusSearch: () => void,
): void {
  const newest = useRef({ panes, known, groups, toggle });
  newest.current = { panes, known, groups, toggle };
  useShortcuts(
    useMemo(() => {
      const go = (step: 1 | -1) => () => {
        const { panes, groups } = newest.current;
        const ids = groups.flatMap(({ conversations }) => conversations.map((info) => info.conversation_id));
        const id = neighbour(ids, panes.activeId, step);
        if (id !== undefined) panes.open(id);
      };
      const mark = (what: Mark) => () => {
        const { panes, known, toggle } = newest.current;
        const info = targetOf(known, panes.activeId);
        if (info !== undefined) void toggle(info, what);
      };
      return {
        search: focusSearch,
        next: go(1),
        previous: go(-1),
        needsMe: () => {
          const id = nextForUser(newest.current.known, newest.current.panes.activeId);
          if (id !== undefined) newest.current.panes.open(id);
        },
        pin: mark('pinned'),
        archive: mark('archived'),
        unread: mark('unread'),
        sidebar: toggleSidebar,
      };
    }, [focusSearch]),
  );
}

function Head({ onPalette }: { readonly onPalette: () => void }) {
  const { shell, sidebar } = useTexts();
  const { sidebarCollapsed } = usePreferences();
  return (
    <div className="head">
      <Link href="/" className="logo" aria-label={`${shell.name}: ${shell.conversations}`}>
        <Icon name="logo" />
        <span>{shell.name}</span>
      </Link>
      <IconButton icon="search" label={sidebar.palette} onClick={onPalette} />
      <IconButton
        icon="sidebar"
        label={sidebarCollapsed ? sidebar.expand : sidebar.collapse}
        className="plain collapse"
        aria-expanded={!sidebarCollapsed}
        onClick={toggleSidebar}
      />
    </div>
  );
}

function NewConversation() {
  const { shortcuts } = useTexts();
  const [path] = useLocation();
  return (
    <Link
      href="/new"
      className="button new-conversation"
      aria-label={shortcuts.create}
      aria-current={path === '/' || path === '/new' ? 'page' : undefined}
      title={shortcuts.create}
    >
      <Icon name="plus" />
      <span>{shortcuts.create}</span>
    </Link>
  );
}

interface SidebarProps {
  readonly onPalette: () => void;
  /** Links and buttons that are always there. */
  readonly foot: ReactNode;
}

export function Sidebar({ onPalette, foot }: SidebarProps) {
  const { sidebar, home } = useTexts();
  const state = useSidebar();
  const { choice, choose, panes, text, list, known, groups, minute } = state;
  const { sidebarCollapsed } = usePreferences();
  const search = useRef<HTMLInputElement>(null);
  const actions = useRowActions(panes.openBeside);
  const focusSearch = useCallback(() => {
    setPreferences({ sidebarCollapsed: false });
    // The field is shown after the next render.
    requestAnimationFrame(() => search.current?.focus());
  }, []);
  useSidebarShortcuts(state, actions.toggle, focusSearch);
  const waiting = known.filter((info) => needsUser(info) && !panes.ids.includes(info.conversation_id));
  const empty = text === '' ? sidebar.empty[choice.view] : home.noMatches;

  return (
    <nav className={sidebarCollapsed ? 'sidebar collapsed' : 'sidebar'} aria-label={sidebar.title}>
      <Head onPalette={onPalette} />
      <NewConversation />
      <div className="find">
        <div className="search">
          <Icon name="search" />
          <input
            ref={search}
            className="input"
            type="search"
            aria-label={sidebar.search}
            placeholder={sidebar.search}
            value={choice.text}
            onChange={(event) => choose({ text: event.target.value })}
          />
        </div>
        <Filters view={choice.view} onView={(view) => choose({ view })} />
      </div>
      {waiting.length > 0 ? (
        <button
          type="button"
          className={
            waiting.some((info) => stateOf(info) === 'needsApproval') ? 'needs-you asking' : 'needs-you'
          }
          onClick={() => {
            const id = nextForUser(known, panes.activeId);
            if (id !== undefined) panes.open(id);
          }}
        >
          {sidebar.needYou(waiting.length)}
        </button>
      ) : null}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the links in it */}
      <div className="list" onKeyDown={moveBetweenRows}>
        <ConversationGroups
          list={list}
          groups={groups}
          open={panes.ids}
          activeId={panes.activeId}
          minute={minute}
          empty={empty}
          onOpen={panes.open}
          actionsOf={actions.actionsOf}
        />
        {text === '' ? null : <MessageMatches text={text} onOpen={panes.open} />}
      </div>
      {foot}
      <Resizer />
      <ConversationDialog dialog={actions.dialog} onClose={() => actions.setDialog(undefined)} />
    </nav>
  );
}
