// What the service says of one conversation, kept in step with its log.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { infoKey } from '../live/conversationLists.ts';
import { useClearNetworkErrors } from '../live/networkErrors.ts';
import { useParley } from '../session/session.tsx';
import { saveFile } from './download.ts';

/** What it is doing is told nowhere else. */
const startingMs = 1_000;
/** The title and the cost change without an event; and what could not be read may be there again. */
const usualMs = 5_000;

export function useInfo(id: string) {
  const parley = useParley();
  return useQuery({
    queryKey: infoKey(id),
    queryFn: ({ signal }) => parley.conversations.get(id, { signal }),
    refetchInterval: ({ state }) => {
      if (state.status === 'error') return usualMs;
      const status = state.data?.status;
      return status === 'STARTING' ? startingMs : status === 'RUNNING' ? usualMs : false;
    },
  });
}

/** Reads it again now. */
export function useInfoAgain(id: string): () => void {
  const queries = useQueryClient();
  return useCallback(() => void queries.invalidateQueries({ queryKey: infoKey(id) }), [queries, id]);
}

export type Steering = 'start' | 'stop';
export type Download = 'log' | 'files';

/** Starting and stopping, and downloads. What went wrong is told until the next of its kind, or until it is closed. */
export function useActions(id: string) {
  const { conversations, workspace } = useParley();
  const again = useInfoAgain(id);
  const steering = useMutation({
    mutationFn: (wanted: Steering) => conversations[wanted](id),
    onSettled: again,
  });
  const download = useMutation({
    mutationFn: async (wanted: Download) =>
      wanted === 'log'
        ? saveFile(await conversations.trajectoryFile(id), `${id}.json`)
        : saveFile(await workspace.zip(id), `${id}.zip`),
  });
  useClearNetworkErrors(steering);
  useClearNetworkErrors(download);
  return {
    steer: steering.mutate,
    steering: steering.isPending,
    download: download.mutate,
    downloading: download.isPending,
    error: steering.error ?? download.error,
    forget: () => {
      steering.reset();
      download.reset();
    },
  };
}
