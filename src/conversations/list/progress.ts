// The progress of a start: as a step with details, and as one of the values that existing clients know.
import type { RuntimeStatus, StartProgress, StartStep } from './schema.ts';

interface StoredProgress {
  readonly status: string;
  readonly run_id: string | null;
  /** The current step of the start, possibly followed by a colon and details. */
  readonly runtime_status: string | null;
}

const steps: Readonly<Record<string, { readonly step: StartStep; readonly known: RuntimeStatus }>> = {
  STATUS$STARTING_RUNTIME: { step: 'starting_sandbox', known: 'STATUS$STARTING_RUNTIME' },
  STATUS$SETTING_UP_WORKSPACE: { step: 'preparing_workspace', known: 'STATUS$SETTING_UP_WORKSPACE' },
  STATUS$STARTING_AGENT: { step: 'starting_agent', known: 'STATUS$RUNTIME_STARTED' },
};

function stored({ runtime_status: text }: StoredProgress) {
  const [name = '', ...rest] = (text ?? '').split(': ');
  return { ...(steps[name] ?? steps['STATUS$STARTING_RUNTIME']), details: rest.join(': ') };
}

/** Null unless the conversation is starting. */
export function progressOf(row: StoredProgress): StartProgress | null {
  if (row.status !== 'STARTING') return null;
  if (row.run_id === null) return { step: 'waiting_for_worker', details: null };
  const { step = 'starting_sandbox', details } = stored(row);
  return { step, details: details === '' ? null : details };
}

/** Null while the conversation waits for a worker. */
export function runtimeStatusOf(row: StoredProgress): RuntimeStatus | null {
  if (row.status === 'RUNNING') return 'STATUS$READY';
  if (row.status === 'STOPPED') return 'STATUS$STOPPED';
  return row.run_id === null ? null : (stored(row).known ?? null);
}
