// The files of microagents in a repository: instructions for agents, which hold always or where a message contains one
// of their triggers.

export const microagentsFolder = '.openhands/microagents';

export interface MicroagentText {
  /** The text without its front matter. */
  readonly content: string;
  /** As they are written. Without any, the microagent always holds. */
  readonly triggers: readonly string[];
}

/** Never throws: front matter that cannot be read has no triggers. */
export function parseMicroagent(text: string): MicroagentText {
  const [head = '', front = ''] = /^---\r?\n(.*?)\r?\n---(?:\r?\n|$)/s.exec(text) ?? [];
  const [, inline, listed] =
    /^triggers:[ \t]*(?:\[(.*?)\]|\r?\n((?:[ \t]*-.*(?:\r?\n|$))*))/m.exec(front) ?? [];
  const written = inline?.split(',') ?? listed?.split('\n').map((line) => line.replace(/^\s*-/, '')) ?? [];
  const triggers = written
    .map((word) => word.trim().replace(/^["']|["']$/g, ''))
    .filter((word) => word !== '');
  return { content: text.slice(head.length).trim(), triggers };
}
