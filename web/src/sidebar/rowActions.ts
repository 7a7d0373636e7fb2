// What can be done with a conversation from its row, its menu and the palette.
import { useCallback, useMemo, useState } from 'react';
import type { ConversationInfo } from '../../../src/client/parley.ts';
import type { Action } from '../components/Menu.tsx';
import { visibleLine } from '../components/visibleText.ts';
import { showNotice } from '../layout/notices.ts';
import { shortcutKeys } from '../layout/shortcuts.ts';
import { panesUrl } from '../panes/paneUrls.ts';
import { useTexts } from '../texts/texts.tsx';
import { toggled, useMarks } from './marks.ts';

/** An open dialog about a conversation. */
export interface OpenDialog {
  readonly kind: 'rename' | 'delete';
  readonly info: ConversationInfo;
}

export type Mark = keyof typeof toggled;

/** Without the key of a link, and without what else the address bar has. */
export function linkTo(ids: readonly string[]): string {
  return `${location.origin}${panesUrl(ids)}`;
}

export function useRowActions(openBeside: (id: string) => void) {
  const { sidebar: texts, conversation } = useTexts();
  const mark = useMarks();
  const [dialog, setDialog] = useState<OpenDialog>();

  /** Archiving hides a conversation, so that it can be undone. */
  const toggle = useCallback(
    async (info: ConversationInfo, what: Mark) => {
      const marks = toggled[what](info);
      showNotice(undefined);
      if (!(await mark(info, marks)) || what !== 'archived') return;
      const title = visibleLine(info.title);
      const undo = () => {
        showNotice(undefined);
        void mark({ ...info, archived: !info.archived }, { archived: info.archived });
      };
      showNotice({ text: info.archived ? texts.unarchivedNotice(title) : texts.archivedNotice(title), undo });
    },
    [mark, texts],
  );

  const copyLink = useCallback(
    async (id: string) => {
      try {
        await navigator.clipboard.writeText(linkTo([id]));
        showNotice({ text: texts.linkCopied });
      } catch {
        showNotice({ text: texts.linkNotCopied });
      }
    },
    [texts],
  );

  const actionsOf = useCallback(
    (info: ConversationInfo): Action[] => [
      { label: texts.openBeside, icon: 'split', run: () => openBeside(info.conversation_id) },
      {
        label: info.pinned ? texts.unpin : texts.pin,
        icon: 'pin',
        keys: shortcutKeys.pin,
        run: () => void toggle(info, 'pinned'),
      },
      {
        label: info.unread ? texts.markRead : texts.markUnread,
        icon: 'unread',
        keys: shortcutKeys.unread,
        run: () => void toggle(info, 'unread'),
      },
      {
        label: info.archived ? texts.unarchive : texts.archive,
        icon: 'archive',
        keys: shortcutKeys.archive,
        run: () => void toggle(info, 'archived'),
      },
      { label: conversation.rename, icon: 'edit', run: () => setDialog({ kind: 'rename', info }) },
      { label: texts.copyLink, icon: 'link', run: () => void copyLink(info.conversation_id) },
      {
        label: conversation.delete,
        icon: 'trash',
        run: () => setDialog({ kind: 'delete', info }),
        danger: true,
      },
    ],
    [texts, conversation, openBeside, toggle, copyLink],
  );

  return useMemo(() => ({ actionsOf, toggle, dialog, setDialog }), [actionsOf, toggle, dialog]);
}
