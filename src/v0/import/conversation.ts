// Reads one conversation of a V0 server, translated and ready to be stored.
import type { ImportedConversation } from '../../conversations/import/service.ts';
import { objectOf } from '../../text/foreignJson.ts';
import { mib } from '../../validation/schema.ts';
import { findEvents, type LostEvent } from './eventFiles.ts';
import { readForeign } from './foreignFile.ts';
import { translateLog } from './log.ts';
import { translateMetadata } from './metadata.ts';
import { type Fault, isFault, type SourceFolder } from './sourceFolder.ts';

const metadataBytesMax = mib;

export interface ReadConversation extends ImportedConversation {
  /** How many events were read so far, and how many could not be read. */
  readonly counts: () => { readonly events: number; readonly lost: number };
  /** The first event that could not be read. */
  readonly firstLost: () => LostEvent | undefined;
}

/** `onPiece` is called before each piece of the log is stored. */
export function readConversation(
  folder: SourceFolder,
  id: string,
  { nowMs, onPiece }: { readonly nowMs: number; readonly onPiece: (events: number) => void },
): ReadConversation | Fault {
  const metadata = readForeign(folder, 'metadata.json', metadataBytesMax);
  if (metadata === undefined)
    return { fault: 'has no metadata.json, so the old server does not show it either' };
  if (isFault(metadata)) return { fault: `has a metadata.json that ${metadata.fault}` };
  const events = findEvents(folder);
  if (isFault(events)) return events;

  const writtenAtMs = folder.changedAtMs('metadata.json') ?? nowMs;
  const lost: { count: number; first?: LostEvent } = { count: 0 };
  const log = translateLog({
    events,
    startedAt: new Date(Math.min(writtenAtMs, nowMs)).toISOString(),
    onLost: (event) => {
      lost.count += 1;
      lost.first ??= event;
    },
  });

  function* pieces(): Generator<readonly string[], void> {
    for (const piece of log.pieces) {
      onPiece(piece.length);
      yield piece;
    }
  }

  const about = { id, writtenAtMs, nowMs, metadata: objectOf(metadata.value) };
  return {
    pieces: pieces(),
    describe: () => translateMetadata({ ...about, log: log.summary() }),
    counts: () => ({ events: log.summary().events, lost: lost.count }),
    firstLost: () => lost.first,
  };
}
