// What callers are told where a workspace, or something in it, cannot be shown.
import { AppError, type ErrorCode } from '../../errors.ts';
import type { Refusal } from './inside/request.ts';

const sentences: Readonly<Record<Refusal, readonly [ErrorCode, string]>> = {
  missing: ['not_found', 'The workspace has nothing of that kind at this path.'],
  unreadable: ['not_found', 'What is at this path of the workspace cannot be read.'],
  not_text: ['binary_file', 'The file is not text in UTF-8; zip-directory gives it as it is.'],
  too_large: ['answer_too_large', 'It is too much to show; ask for less, or look at it in the workspace.'],
  no_repository: ['no_repository', 'The workspace is not a git repository.'],
  odd_repository: [
    'no_repository',
    'The git repository of the workspace cannot be read: it is damaged, of a newer format, or has parts elsewhere.',
  ],
  not_fetched: [
    'not_found',
    'The file as it was at origin was never fetched, so that it cannot be compared.',
  ],
  no_git: ['internal', 'There is no git where the workspace is; the operator must install it.'],
};

export function refuse(refusal: Refusal): AppError {
  return new AppError(...sentences[refusal]);
}

export function noWorkspace(): AppError {
  return new AppError(
    'no_workspace',
    'This conversation has no files here: it was not started yet, they were removed, or they are on another machine. Start it, and ask again when it runs.',
  );
}

/** For an inspection that was ended at its time limit. It would likely take as long again. */
export const tooSlow = (withinMs: number) =>
  new AppError(
    'answer_too_large',
    `Reading the workspace took longer than ${withinMs / 1_000} s and was stopped. It may hold too many files, or something that keeps git waiting.`,
  );
