// What an edit changed, as people read it: one piece from the first line that differs to the last.

const contextLines = 3;

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

function commonStart(a: readonly string[], b: readonly string[]): number {
  let count = 0;
  while (count < a.length && count < b.length && a[count] === b[count]) count++;
  return count;
}

interface Change {
  readonly path: string;
  /** Null where there was no such file. */
  readonly oldText: string | null;
  readonly newText: string;
}

/** Empty where nothing differs but perhaps the last line break. */
export function describeChange({ path, oldText, newText }: Change): string {
  const [old, now] = [linesOf(oldText ?? ''), linesOf(newText)];
  const start = commonStart(old, now);
  if (start === old.length && start === now.length && oldText !== null) return '';
  const end = commonStart(old.slice(start).reverse(), now.slice(start).reverse());
  const from = Math.max(0, start - contextLines);
  const after = Math.min(end, contextLines);
  const oldEnd = old.length - end;
  const nowEnd = now.length - end;
  const span = (count: number) => `${count === 0 ? from : from + 1},${count}`;
  return [
    `--- ${oldText === null ? '/dev/null' : path}`,
    `+++ ${path}`,
    `@@ -${span(oldEnd + after - from)} +${span(nowEnd + after - from)} @@`,
    ...old.slice(from, start).map((line) => ` ${line}`),
    ...old.slice(start, oldEnd).map((line) => `-${line}`),
    ...now.slice(start, nowEnd).map((line) => `+${line}`),
    ...old.slice(oldEnd, oldEnd + after).map((line) => ` ${line}`),
  ].join('\n');
}
