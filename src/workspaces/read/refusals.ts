// Errors for callers if a workspace, or something in it, cannot be shown.
import { AppError, type ErrorCode } from '../../errors.ts';
import type { Refusal } from './inside/request.ts';

const sentences: Readonly<Record<Refusal, readonly [ErrorCode, string]>> = {
  missing: ['not_found', 'This path does not exist in the workspace.'],
  unreadable: ['not_found', 'This path of the workspace cannot be read.'],
  not_text: ['binary_file', 'The file is not UTF-8 text; download it with zip-directory.'],
  too_large: ['answer_too_large', 'The result is too large; request less.'],
  no_repository: ['no_repository', 'The workspace is not a Git repository.'],
  odd_repository: [
    'no_repository',
    'The Git repository of the workspace cannot be read: it is damaged, has a newer format, or has parts elsewhere.',
  ],
  not_fetched: [
    'not_found',
    'The original version of the file was never fetched, so that it cannot be compared.',
  ],
  no_git: ['internal', 'Git is not installed on the server; the operator must install it.'],
};

export function refuse(refusal: Refusal): AppError {
  return new AppError(...sentences[refusal]);
}

export function noWorkspace(): AppError {
  return new AppError(
    'no_workspace',
    'This conversation has no files: it has not started, or they were removed. Start it, and try again when it is running.',
  );
}

/** For an inspection that was ended at its time limit. It would likely take as long again. */
export const tooSlow = (withinMs: number) =>
  new AppError(
    'answer_too_large',
    `Reading the workspace took longer than ${withinMs / 1_000} s and was stopped. It may have too many files, or something that blocks Git.`,
  );
