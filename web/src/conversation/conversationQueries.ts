// Queries and mutations for one conversation.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, useCallback } from 'react';
import { infoKey } from '../live/conversationLists.ts';
import { useClearNetworkErrors } from '../live/networkErrors.ts';
import { useParley } from '../session/session.tsx';

/** The id of the open conversation, for components of its timeline. */
export const ConversationId = createContext('');

/** The name of the stream of a log, within the connection. */
export const streamName = (id: string) => `conversation.${id}`;

/** The steps of a start are not in the log. */
const startingPollMs = 1_000;
/** The title and the cost change without an event, and a failed request may work now. */
const pollMs = 5_000;
/** How long the browser may take to read a download. */
const objectUrlMs = 60_000;

export function useInfo(id: string) {
  const parley = useParley();
  return useQuery({
    queryKey: infoKey(id),
    queryFn: ({ signal }) => parley.conversations.get(id, { signal }),
    refetchInterval: ({ state }) => {
      if (state.status === 'error') return pollMs;
      const status = state.data?.status;
      return status === 'STARTING' ? startingPollMs : status === 'RUNNING' ? pollMs : false;
    },
  });
}

export function useRefreshInfo(id: string): () => void {
  const queries = useQueryClient();
  return useCallback(() => void queries.invalidateQueries({ queryKey: infoKey(id) }), [queries, id]);
}

/** Saves a response as a file. A plain link could not send the API key. */
function saveFile(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), objectUrlMs);
}

export type StartOrStop = 'start' | 'stop';
export type Download = 'log' | 'files';

/** Start, stop, interrupt and download. An error is shown until the next attempt, or until the user closes it. */
export function useActions(id: string) {
  const { conversations, workspace } = useParley();
  const refresh = useRefreshInfo(id);
  const startOrStop = useMutation({
    mutationFn: (action: StartOrStop) => conversations[action](id),
    onSettled: refresh,
  });
  const interrupt = useMutation({ mutationFn: () => conversations.cancel(id), onSettled: refresh });
  const download = useMutation({
    mutationFn: async (content: Download) =>
      content === 'log'
        ? saveFile(await conversations.trajectoryFile(id), `${id}.json`)
        : saveFile(await workspace.zip(id), `${id}.zip`),
  });
  useClearNetworkErrors(startOrStop);
  useClearNetworkErrors(interrupt);
  useClearNetworkErrors(download);
  return {
    startOrStop: startOrStop.mutate,
    startingOrStopping: startOrStop.isPending,
    interrupt: interrupt.mutate,
    interrupting: interrupt.isPending,
    download: download.mutate,
    downloading: download.isPending,
    error: startOrStop.error ?? interrupt.error ?? download.error,
    clearError: () => {
      startOrStop.reset();
      interrupt.reset();
      download.reset();
    },
  };
}
