// Comments on lines of the changes. They are kept until they are sent together, as one message to the agent.

export interface LineComment {
  readonly path: string;
  /** `old`: the line was removed. */
  readonly side: 'old' | 'new';
  readonly line: number;
  /** What the line says. */
  readonly code: string;
  readonly text: string;
}

/** A longer line is shortened in the message: its number says which one it is. */
const codeCharsMax = 200;
export const commentCharsMax = 4_000;
export const commentsMax = 100;

export function isAt(
  comment: LineComment,
  { path, side, line }: Omit<LineComment, 'code' | 'text'>,
): boolean {
  return comment.path === path && comment.side === side && comment.line === line;
}

/** A fence that the code itself does not contain. */
function fenced(code: string): string {
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${code}\n${fence}`;
}

/** The message for the agent. It is in English, as the paths and the code mostly are. */
export function commentsMessage(comments: readonly LineComment[]): string {
  const parts = comments.map(({ path, side, line, code, text }) => {
    const short = code.length > codeCharsMax ? `${code.slice(0, codeCharsMax)}…` : code;
    const where = side === 'old' ? `${path}, line ${line} before the change` : `${path}, line ${line}`;
    return `${where}:\n${fenced(short)}\n${text}`;
  });
  return `Please address these comments on your changes.\n\n${parts.join('\n\n')}`;
}
