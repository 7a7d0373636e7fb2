// `parley completion`: what completes commands, options and ids in bash.
import { RefusalError } from '../../errors.ts';
import type { Command, Entry } from '../command.ts';

const help = `Usage: parley completion [bash]

Prints a script that completes commands, options and ids of conversations in bash. Read it in your ~/.bashrc:

  eval "$(parley completion)"

zsh takes it, too, after: autoload -U +X bashcompinit && bashcompinit
`;

/** Those that its help names. */
function optionsOf(text: string): string[] {
  return [...new Set(text.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? [])].sort();
}

const idsMax = 100;

/**
 * Whichever way it is called, such as ./parley, the same program is asked for the ids. Bash expands what it is offered,
 * so that only ids without characters that mean something to it may come through.
 */
const script = (
  commands: readonly Entry[],
  lines: readonly string[],
) => `# Completes parley in bash: eval "$(parley completion)"
_parley_ids() {
  "$1" list --json --limit ${idsMax} 2>/dev/null | sed -n 's/^{"conversation_id":"\\([A-Za-z0-9._:-]*\\)".*/\\1/p'
}
_parley() {
  local word=\${COMP_WORDS[COMP_CWORD]} words='' options=''
  COMPREPLY=()
  case \${COMP_WORDS[1]} in
${lines.join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${commands.map(({ name }) => name).join(' ')} --help --version'
  elif [ "\${word#-}" != "$word" ]; then
    words="$options --help"
  elif [ "$words" = ids ] || [ "$words:$COMP_CWORD" = id:2 ]; then
    words=$(_parley_ids "\${COMP_WORDS[0]}")
  elif [ "$COMP_CWORD" -gt 2 ]; then
    [ "\${COMP_WORDS[1]}:$COMP_CWORD" = confirm:3 ] && words='allow always reject' || words=''
  fi
  # Without words of ours bash offers files.
  [ "$words" = '' ] || COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _parley parley ./parley
`;

/** For these commands. */
export function createCompletion(commands: readonly Entry[]): Command {
  async function run(argv: readonly string[]): Promise<number> {
    const [shell = 'bash', ...rest] = argv;
    if (shell !== 'bash' || rest.length > 0) throw new RefusalError('There is a script for bash alone.');
    const lines = await Promise.all(
      commands.map(async ({ name, words = [], load }) => {
        const options = optionsOf((await load()).help).join(' ');
        const own = typeof words === 'string' ? words : words.join(' ');
        return `    ${name}) words='${own}'; options='${options}' ;;`;
      }),
    );
    process.stdout.write(script(commands, lines));
    return 0;
  }
  return { help, run };
}
