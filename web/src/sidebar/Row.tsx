// A conversation in the sidebar: its state, title, repository and age, and a menu.
import { memo } from 'react';
import { Link } from 'wouter';
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { Icon } from '../components/Icon.tsx';
import { type Action, Menu } from '../components/Menu.tsx';
import { type ConversationState, stateOf } from '../components/status.ts';
import { visibleLine } from '../components/visibleText.ts';
import { panesUrl } from '../panes/paneUrls.ts';
import { useLocale } from '../texts/texts.tsx';
import { shortAgoText } from '../texts/time.ts';

/** States that are said in words, because they concern the user. */
const notable: ReadonlySet<ConversationState> = new Set(['needsApproval', 'failed', 'starting']);

interface RowProps {
  readonly info: ConversationInfo;
  /** `page`: in the active pane; `true`: in the other one. */
  readonly current: 'page' | 'true' | undefined;
  readonly withRepository: boolean;
  /** The age changes every minute. */
  readonly minute: number;
  readonly onOpen: (id: string) => void;
  readonly actionsOf: (info: ConversationInfo) => readonly Action[];
}

function RowText({ info, withRepository }: Pick<RowProps, 'info' | 'withRepository'>) {
  const { texts, language } = useLocale();
  const state = stateOf(info);
  const where = [withRepository ? info.selected_repository : null, info.selected_branch].filter(Boolean);
  const word = texts.sidebar.states[state];
  const isNotable = notable.has(state);
  return (
    <>
      <span className={`state ${state}`} title={word} />
      <span className="title">{visibleLine(info.title)}</span>
      <span className="age">
        {info.pinned ? <Icon name="pin" /> : null}
        <time dateTime={info.last_updated_at}>
          {shortAgoText(info.last_updated_at, language, texts.shell.now)}
        </time>
        {info.unread ? <span className="unread-dot" title={texts.sidebar.unread} /> : null}
      </span>
      <span className={isNotable || where.length > 0 ? 'description' : 'visually-hidden'}>
        <span className={isNotable ? `word ${state}` : 'visually-hidden'}>{word}</span>
        {info.unread ? <span className="visually-hidden">{texts.sidebar.unread}</span> : null}
        {where.length === 0 ? null : <span className="where">{visibleLine(where.join(' · '))}</span>}
      </span>
    </>
  );
}

export const Row = memo(function Row({ info, current, withRepository, onOpen, actionsOf }: RowProps) {
  const { texts } = useLocale();
  const { conversation_id: id } = info;
  return (
    <li data-conversation={id} className={info.unread ? 'unread' : undefined}>
      <Link
        href={panesUrl([id])}
        className="row"
        aria-current={current}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
          event.preventDefault();
          onOpen(id);
        }}
      >
        <RowText info={info} withRepository={withRepository} />
      </Link>
      <Menu
        label={texts.sidebar.menuOf(visibleLine(info.title))}
        className="plain"
        actions={() => actionsOf(info)}
      />
    </li>
  );
});
