// What the service says of one conversation, kept in step with its log.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { infoKey } from '../live/changes.ts';
import type { Activity } from '../parts/StatusBadge.tsx';
import { useParley } from '../session/session.tsx';
import type { LogState } from './items.ts';

/** What it is doing is told nowhere else. */
const startingMs = 1_000;
/** The title and the cost change without an event. */
const runningMs = 5_000;

export function useInfo(id: string) {
  const parley = useParley();
  return useQuery({
    queryKey: infoKey(id),
    queryFn: ({ signal }) => parley.conversations.get(id, { signal }),
    refetchInterval: ({ state }) => {
      const status = state.data?.status;
      return status === 'STARTING' ? startingMs : status === 'RUNNING' ? runningMs : false;
    },
  });
}

/** Reads it again now. */
export function useInfoAgain(id: string): () => void {
  const queries = useQueryClient();
  return useCallback(() => void queries.invalidateQueries({ queryKey: infoKey(id) }), [queries, id]);
}

export function useSteering(id: string) {
  const parley = useParley();
  const again = useInfoAgain(id);
  const start = useMutation({ mutationFn: () => parley.conversations.start(id), onSettled: again });
  const stop = useMutation({ mutationFn: () => parley.conversations.stop(id), onSettled: again });
  return { start, stop };
}

export function activityOf({ agentState }: LogState): Activity | undefined {
  if (agentState === 'running') return 'working';
  if (agentState === 'awaiting_user_input' || agentState === 'finished') return 'waiting';
  return agentState === 'awaiting_user_confirmation' ? 'asking' : undefined;
}
