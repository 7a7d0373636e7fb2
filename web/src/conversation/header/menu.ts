// The actions on the open conversation: for its menu, and for the palette while its pane is active.
import { useContext, useMemo } from 'react';
import type { ConversationInfo } from '../../../../src/client/parley.ts';
import type { Action } from '../../components/Menu.tsx';
import { ActivePane, useOfferActions, usePanes } from '../../panes/panes.ts';
import { useRowActions } from '../../sidebar/rowActions.ts';
import { useTexts } from '../../texts/texts.tsx';
import type { useActions } from '../conversationQueries.ts';

type ConversationActions = ReturnType<typeof useActions>;

interface MenuOptions {
  readonly id: string;
  readonly info: ConversationInfo | undefined;
  readonly actions: ConversationActions;
  readonly setDialog: (dialog: 'rename' | 'choose' | 'delete') => void;
}

function useRunActions({ info, actions }: Pick<MenuOptions, 'info' | 'actions'>): readonly Action[] {
  const { conversation } = useTexts();
  const { startOrStop, interrupt } = actions;
  const { status, agent_state } = info ?? {};
  return useMemo(() => {
    if (status === undefined) return [];
    if (status === 'STOPPED')
      return [{ label: conversation.resume, icon: 'play', run: () => startOrStop('start') }];
    const stop: Action = { label: conversation.stop, icon: 'stop', run: () => startOrStop('stop') };
    const isBusy = agent_state === 'running' || agent_state === 'awaiting_user_confirmation';
    return isBusy ? [{ label: conversation.interrupt, icon: 'pause', run: () => interrupt() }, stop] : [stop];
  }, [conversation, status, agent_state, startOrStop, interrupt]);
}

export function useConversationMenu({ id, info, actions, setDialog }: MenuOptions) {
  const { conversation, sidebar } = useTexts();
  const panes = usePanes();
  const isActive = useContext(ActivePane);
  const { actionsOf } = useRowActions(panes.openBeside);
  const { download, downloading: disabled } = actions;
  const isSplit = panes.ids.length > 1;
  const { close } = panes;

  const menu = useMemo<readonly Action[]>(() => {
    // Those of the row, but with the dialogs of this screen.
    const [, pin, unread, archive, , copyLink] = info === undefined ? [] : actionsOf(info);
    const marks = [pin, unread, archive, copyLink].flatMap((action) =>
      action === undefined ? [] : [action],
    );
    return [
      { label: conversation.rename, icon: 'edit', run: () => setDialog('rename') },
      { label: conversation.choose, icon: 'gear', run: () => setDialog('choose') },
      ...marks,
      ...(isSplit ? [{ label: sidebar.closePane, icon: 'close', run: () => close(id) } as const] : []),
      { label: conversation.downloadLog, icon: 'download', run: () => download('log'), disabled },
      { label: conversation.downloadFiles, icon: 'file', run: () => download('files'), disabled },
      { label: conversation.delete, icon: 'trash', run: () => setDialog('delete'), danger: true },
    ];
  }, [conversation, sidebar, info, actionsOf, isSplit, close, id, download, disabled, setDialog]);

  const run = useRunActions({ info, actions });
  useOfferActions(
    useMemo(() => [...run, ...menu], [run, menu]),
    isActive,
  );
  return menu;
}
