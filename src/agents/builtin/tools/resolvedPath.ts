// Resolves the links of a path. They are followed before the approval request, so that it names the file that is read or
// written, and no other file is accessed afterwards.
import { readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { ToolFailure } from './failure.ts';
import { absolute, fileFailure, shownPath } from './fileText.ts';
import type { ResolvedPath, ToolUse } from './tool.ts';

/** The limit of Linux. */
const linksMax = 40;

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

async function linkAt(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if (['EINVAL', 'ENOENT'].includes(codeOf(error))) return undefined;
    throw error;
  }
}

/** Follows every link of the path, including one to a file that does not exist yet. */
async function follow(path: string, linksLeft: number): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  if (linksLeft === 0) throw Object.assign(new Error('too many links'), { code: 'ELOOP' });
  const own = join(await follow(dirname(path), linksLeft - 1), basename(path));
  const link = await linkAt(own);
  return link === undefined ? own : follow(resolve(dirname(own), link), linksLeft - 1);
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/**
 * Throws a `ToolFailure`, also if the path leads to another file than the one that was approved, or out of the folder
 * that the call is limited to.
 */
export async function resolvePath(path: string, use: ToolUse): Promise<ResolvedPath> {
  const named = absolute(path, use);
  const shown = shownPath(named, use);
  let target: string;
  let cwd: string;
  try {
    cwd = await realpath(use.cwd);
    target = await follow(named, linksMax);
  } catch (error) {
    throw fileFailure(`Opening ${shown}`, error);
  }
  // A link to the workspace itself does not matter for the approval.
  const isLinked = target !== resolve(cwd, relative(use.cwd, named));
  if (use.approvedPath !== undefined && use.approvedPath !== target)
    throw new ToolFailure(
      `${shown} leads to another file than when approval was asked for. Nothing was done. Look at it again.`,
    );
  if (use.within !== undefined && !isWithin(target, use.within))
    throw new ToolFailure(`${shown} is not in the workspace, so you cannot read it.`);
  return {
    path: target,
    isLinked,
    named: isLinked ? target : named,
    shown: isLinked ? `${shown} → ${shownPath(target, { cwd })}` : shown,
  };
}

/** Resolves the path for an approval request. If it returns null, nothing may be opened later. */
export async function resolveForRequest(path: string, use: ToolUse): Promise<ResolvedPath | null> {
  try {
    return await resolvePath(path, use);
  } catch {
    return null;
  }
}
