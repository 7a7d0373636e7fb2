// The changed files of the workspace. Each opens the review of all changes at its diff.
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type GitChange, ParleyError } from '../../../../src/client/parley.ts';
import { ErrorCallout } from '../../components/Callout.tsx';
import { visibleLine } from '../../components/visibleText.ts';
import { useParley } from '../../session/session.tsx';
import { useTexts } from '../../texts/texts.tsx';
import { ReviewDialog } from '../review/ReviewDialog.tsx';

/** These errors only mean that there are no changes. */
const noChangesCodes: ReadonlySet<string> = new Set(['no_workspace', 'no_repository']);

function isNoChanges(error: unknown): boolean {
  return error instanceof ParleyError && noChangesCodes.has(error.code);
}

function Files({
  files,
  onOpen,
}: {
  readonly files: readonly GitChange[];
  readonly onOpen: (path: string) => void;
}) {
  const { details } = useTexts();
  const labels: Readonly<Record<string, string>> = {
    A: details.added,
    M: details.modified,
    D: details.deleted,
  };
  if (files.length === 0) return <p className="muted">{details.noChanges}</p>;
  return (
    <ul className="changed-files">
      {files.map(({ status, path }) => (
        <li key={path}>
          <button type="button" onClick={() => onOpen(path)}>
            <span className={`file-status ${status}`} title={labels[status]}>
              {status}
              <span className="visually-hidden">{labels[status]}</span>
            </span>
            <span className="mono">{visibleLine(path)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Fetches the changes again whenever the agent finishes a turn. */
export function Changes({ id, agentState }: { readonly id: string; readonly agentState: string }) {
  const { details, review } = useTexts();
  const parley = useParley();
  const [open, setOpen] = useState<{ readonly first: string | undefined }>();
  // There is no workspace before the agent has started.
  const started = agentState !== '' && agentState !== 'loading';
  const changes = useQuery({
    queryKey: ['changes', id],
    queryFn: ({ signal }) => parley.workspace.changes(id, { signal }),
    retry: false,
    enabled: started,
  });
  const { refetch } = changes;
  // A turn may be so short that this component never sees the state `running`.
  useEffect(() => {
    if (started && agentState !== 'running') void refetch();
  }, [started, agentState, refetch]);
  const none = isNoChanges(changes.error) || (!started && changes.data === undefined);
  return (
    <section>
      <header>
        <h2>{details.changes}</h2>
        {changes.data === undefined || changes.data.length < 2 ? null : (
          <button type="button" className="link-button" onClick={() => setOpen({ first: undefined })}>
            {review.open}
          </button>
        )}
        <button
          type="button"
          className="link-button"
          disabled={changes.isFetching}
          onClick={() => void refetch()}
        >
          {details.refresh}
        </button>
      </header>
      {none ? <p className="muted">{details.noWorkspace}</p> : <ErrorCallout error={changes.error} />}
      {changes.data === undefined || changes.error !== null ? null : (
        <Files files={changes.data} onOpen={(first) => setOpen({ first })} />
      )}
      {open === undefined || changes.data === undefined ? null : (
        <ReviewDialog id={id} changes={changes.data} first={open.first} onClose={() => setOpen(undefined)} />
      )}
    </section>
  );
}
