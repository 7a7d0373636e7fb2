// Counts what an agent has done, for the head of a folded group and for what happened while the user was away.
import type { Call, Item } from '../items.ts';

export interface WorkSummary {
  /** Distinct files. */
  readonly readFiles: number;
  /** Distinct files. */
  readonly changedFiles: number;
  readonly commands: number;
  readonly pages: number;
  readonly tools: number;
  readonly failed: number;
  readonly addedLines: number;
  readonly removedLines: number;
  /** Of the agent and of users. */
  readonly messages: number;
  readonly approvals: number;
  readonly errors: number;
}

interface LineCounts {
  readonly added: number;
  readonly removed: number;
}

const countsByDiff = new WeakMap<Call, LineCounts>();

/** Counts without parsing the diff as a whole: headers of files are the only other lines with these signs. */
function lineCounts(call: Call): LineCounts {
  const known = countsByDiff.get(call);
  if (known !== undefined) return known;
  const count = (sign: RegExp, header: RegExp) =>
    (call.diff.match(sign)?.length ?? 0) - (call.diff.match(header)?.length ?? 0);
  const counts = { added: count(/^\+/gm, /^\+\+\+ /gm), removed: count(/^-/gm, /^--- /gm) };
  countsByDiff.set(call, counts);
  return counts;
}

export function hasFailed({ outcome, exitCode, approval }: Call): boolean {
  return outcome === 'failed' || approval?.answer === 'reject' || (exitCode !== undefined && exitCode > 0);
}

export function summarize(items: readonly Item[]): WorkSummary {
  const files = { read: new Set<string>(), edit: new Set<string>() };
  const counts = { run: 0, browse: 0, tool: 0, failed: 0, added: 0, removed: 0 };
  const others = { messages: 0, approvals: 0, errors: 0 };
  for (const item of items) {
    if (item.kind === 'message') others.messages++;
    if (item.kind === 'error') others.errors++;
    if (item.kind !== 'call') continue;
    const { call } = item;
    if (call.approval !== undefined) others.approvals++;
    if (hasFailed(call)) counts.failed++;
    if (call.tool === 'read' || call.tool === 'edit') files[call.tool].add(call.subject);
    else counts[call.tool]++;
    if (call.diff === '') continue;
    const { added, removed } = lineCounts(call);
    counts.added += added;
    counts.removed += removed;
  }
  return {
    readFiles: files.read.size,
    changedFiles: files.edit.size,
    commands: counts.run,
    pages: counts.browse,
    tools: counts.tool,
    failed: counts.failed,
    addedLines: counts.added,
    removedLines: counts.removed,
    ...others,
  };
}
