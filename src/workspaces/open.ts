// Which cell a workspace is looked at in.
import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { openCell } from '../runtime/sandbox/openCell.ts';
import { processSandbox } from '../runtime/sandbox/process.ts';
import { lookReadable } from './program.ts';
import type { OpenWorkspace } from './service.ts';

export function createOpenWorkspace({ dataDir }: { readonly dataDir: string }): OpenWorkspace {
  return async (conversationKey) => {
    const folder = join(dataDir, 'conversations', String(conversationKey));
    const workspace = join(folder, 'workspace');
    const there = await stat(workspace).catch(() => undefined);
    if (!there?.isDirectory()) return undefined;
    return openCell({
      sandbox: processSandbox,
      cell: {
        name: `look-${conversationKey}-${randomUUID()}`,
        workspace,
        home: join(folder, 'home'),
        readable: lookReadable,
        resourceFactor: 1,
        image: null,
      },
    });
  };
}
