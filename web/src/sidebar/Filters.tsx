// The menu that selects which conversations the sidebar shows, and in which groups. The groups are remembered.
import { Icon } from '../components/Icon.tsx';
import { Menu } from '../components/Menu.tsx';
import { setPreferences, usePreferences } from '../layout/preferences.ts';
import { useTexts } from '../texts/texts.tsx';
import type { View } from './lists.ts';

const views = ['active', 'unread', 'archived'] as const;
const groupings = ['day', 'repository'] as const;

interface FiltersProps {
  readonly view: View;
  readonly onView: (view: View) => void;
}

export function Filters({ view, onView }: FiltersProps) {
  const { sidebar } = useTexts();
  const { grouping, pinnedFirst } = usePreferences();
  return (
    <>
      <Menu
        label={sidebar.filters}
        icon="filter"
        className="plain"
        actions={() => [
          ...views.map((name) => ({
            label: sidebar.views[name],
            icon: ({ active: 'chat', unread: 'unread', archived: 'archive' } as const)[name],
            checked: name === view,
            run: () => onView(name),
          })),
          ...groupings.map((name) => ({
            label: sidebar.groupings[name],
            icon: 'filter' as const,
            checked: name === grouping,
            run: () => setPreferences({ grouping: name }),
          })),
          {
            label: sidebar.pinnedFirst,
            icon: 'pin',
            checked: pinnedFirst,
            run: () => setPreferences({ pinnedFirst: !pinnedFirst }),
          },
        ]}
      />
      {view === 'active' ? null : (
        <button type="button" className="view" title={sidebar.views.active} onClick={() => onView('active')}>
          {sidebar.views[view]}
          <Icon name="close" />
        </button>
      )}
    </>
  );
}
