// The changed files of the workspace, and the diff of each.
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { type GitChange, ParleyError } from '../../../../src/client/parley.ts';
import { ErrorCallout, Loading } from '../../components/Callout.tsx';
import { Dialog } from '../../components/Dialog.tsx';
import { visibleLine } from '../../components/visibleText.ts';
import { useParley } from '../../session/session.tsx';
import { useTexts } from '../../texts/texts.tsx';
import { DiffView } from '../content/DiffView.tsx';
import { compare } from '../content/diff.ts';

/** These errors only mean that there are no changes. */
const noChangesCodes: ReadonlySet<string> = new Set(['no_workspace', 'no_repository']);

function isNoChanges(error: unknown): boolean {
  return error instanceof ParleyError && noChangesCodes.has(error.code);
}

function FileDialog({
  id,
  path,
  onClose,
}: {
  readonly id: string;
  readonly path: string;
  readonly onClose: () => void;
}) {
  const { details, shell } = useTexts();
  const parley = useParley();
  const diff = useQuery({
    queryKey: ['diff', id, path],
    queryFn: ({ signal }) => parley.workspace.diff(id, path, { signal }),
    staleTime: 0,
    gcTime: 0,
  });
  const binary = diff.error instanceof ParleyError && diff.error.code === 'binary_file';
  const lines = useMemo(
    () => (diff.data === undefined ? [] : compare(diff.data.original ?? '', diff.data.modified ?? '')),
    [diff.data],
  );
  return (
    <Dialog title={visibleLine(path)} wide onClose={onClose}>
      {diff.isPending ? <Loading>{shell.loading}</Loading> : null}
      {binary ? <p className="muted">{details.binary}</p> : <ErrorCallout error={diff.error} />}
      {diff.data === undefined ? null : lines.length === 0 ? (
        <p className="muted">{details.same}</p>
      ) : (
        <DiffView lines={lines} label={details.diffOf(visibleLine(path))} />
      )}
    </Dialog>
  );
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
  const { details } = useTexts();
  const parley = useParley();
  const [open, setOpen] = useState<string>();
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
        <Files files={changes.data} onOpen={setOpen} />
      )}
      {open === undefined ? null : <FileDialog id={id} path={open} onClose={() => setOpen(undefined)} />}
    </section>
  );
}
