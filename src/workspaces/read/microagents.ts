// The files that instruct agents, in the shape that clients expect.
import { basename } from 'node:path';
import { parseMicroagent } from '../../text/microagents.ts';
import type { InstructionFile } from './inside/request.ts';
import type { WorkspaceMicroagents } from './schema.ts';

export function toMicroagents(files: readonly InstructionFile[]): WorkspaceMicroagents {
  const microagents = files.map(({ path, text }) => {
    const { content, triggers } = parseMicroagent(text);
    const type = triggers.length === 0 ? ('repo' as const) : ('knowledge' as const);
    return { name: basename(path, '.md'), type, content, triggers: [...triggers], inputs: [], tools: [] };
  });
  return { microagents };
}
