// Files that the user attached to messages: puts those that waited into the workspace, and knows their paths there.
import { notice } from '../events/shapes.ts';
import type { NewEvent } from '../events/vocabulary/vocabulary.ts';
import { withoutWorkspace, workspacePath } from '../workspaces/paths.ts';
import type { UploadTarget } from '../workspaces/write/service.ts';
import type { DeliverUploads } from './runContext.ts';

interface AttachmentsOptions {
  readonly target: UploadTarget;
  /** The path of the workspace in the sandbox. */
  readonly workspace: string;
  readonly deliverUploads: DeliverUploads;
  readonly add: (events: readonly NewEvent[]) => Promise<void>;
  readonly onError: (error: Error) => void;
}

const unreachableNotice =
  'Some uploaded files are on a machine that cannot be reached. They are tried again before the next message.';
const failedNotice =
  'The uploaded files could not be put into the workspace. This is tried again before the next message.';

export function createAttachments(options: AttachmentsOptions) {
  const { target, workspace, deliverUploads, add, onError } = options;
  /** Names that were taken when the files were delivered. */
  const newNames = new Map<string, string>();
  const noted = new Set<string>();

  async function note(sentence: string): Promise<void> {
    if (noted.has(sentence)) return;
    noted.add(sentence);
    await add([notice(sentence)]);
  }

  /** Called before each turn, so that the agent finds the files that its messages name. */
  async function deliver(): Promise<void> {
    try {
      const { renamed, unreachable } = await deliverUploads(target);
      for (const { sent, name } of renamed) {
        newNames.set(sent, name);
        await note(`${sent} was uploaded as ${name}, because the workspace has a file with its name.`);
      }
      if (unreachable > 0) await note(unreachableNotice);
    } catch (error) {
      onError(error as Error);
      await note(failedNotice);
    }
  }

  /** The path of an attached file as the agent sees it. Other URLs are not changed. */
  function pathOf(url: string): string {
    if (!url.startsWith(workspacePath(''))) return url;
    const name = withoutWorkspace(url);
    return `${workspace}/${newNames.get(name) ?? name}`;
  }

  return { deliver, pathOf };
}
