// Makes globs of the model safe: refuses those that could take hours to match, and expands braces.
import { ToolFailure } from './failure.ts';

export const globCharsMax = 300;
/** The limit for one part of a path. Each further star multiplies the ways to match. */
const starsMax = 4;
const spelledMax = 50;

/** Throws a `ToolFailure` if the glob could take too long to match. */
export function checkGlob(glob: string): void {
  if (/\{[^}]*\.\./.test(glob))
    throw new ToolFailure('Ranges such as {1..9} are not known in globs. Use [1-9].');
  if (/[!?+*@]\(/.test(glob))
    throw new ToolFailure('Groups such as @(a|b) are not known in globs. Use {a,b}.');
  spell(glob);
  for (const part of glob.split('/'))
    if (part !== '**' && part.split('*').length - 1 > starsMax)
      throw new ToolFailure(`A part of a glob has at most ${starsMax} stars.`);
}

/** Expands `*.{ts,js}` to `*.ts` and `*.js`. Throws a `ToolFailure` if there are too many. */
export function spell(glob: string): string[] {
  let done: string[] = [''];
  let rest = glob;
  for (let brace = /\{([^{}]*)\}/.exec(rest); brace !== null; brace = /\{([^{}]*)\}/.exec(rest)) {
    const before = rest.slice(0, brace.index);
    const options = (brace[1] ?? '').split(',');
    if (done.length * options.length > spelledMax)
      throw new ToolFailure(`The braces of a glob stand for at most ${spelledMax} globs.`);
    done = done.flatMap((start) => options.map((option) => start + before + option));
    rest = rest.slice(brace.index + brace[0].length);
  }
  if (/[{}]/.test(rest) || done.some((one) => one.includes('{')))
    throw new ToolFailure('Braces within braces are not known in globs. Spell them out: {a,b,c}.');
  return done.map((start) => start + rest);
}
