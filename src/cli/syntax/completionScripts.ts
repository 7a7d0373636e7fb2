// The scripts that ask `parley complete` for candidates. It prints a line for each, with its help after a tab, or
// ":files" if the shell should complete the name of a file. The scripts treat these lines as data and expand nothing.

const bash = `# Completion of parley in bash: eval "$(parley completion bash)"
_parley() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = ':files' ]; then
      compopt -o default 2>/dev/null
      return
    fi
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <("\${COMP_WORDS[0]}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _parley parley ./parley
`;

const zsh = `#compdef parley
# Completion of parley in zsh, after compinit: eval "$(parley completion zsh)"
_parley() {
  local line word help
  local -a candidates
  for line in "\${(@f)$("\${(Q)words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == ':files' ]]; then
      _files
      return
    fi
    [[ -n $line ]] || continue
    word=\${line%%$'\\t'*}
    help=\${line#*$'\\t'}
    candidates+=("\${word//:/\\\\:}\${help:+:$help}")
  done
  _describe 'parley' candidates
}
if [[ \${funcstack[1]} == _parley ]]; then
  _parley
else
  compdef _parley parley ./parley
fi
`;

const fish = `# Completion of parley in fish: parley completion fish | source
function __parley_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (command $words[1] complete -- $words[2..] 2>/dev/null)
        if test "$line" = ':files'
            __fish_complete_path (commandline -ct)
        else
            printf '%s\\n' $line
        end
    end
end
complete -c parley -f -a '(__parley_complete)'
`;

export const completionScripts = { bash, zsh, fish } as const;
