/** `conclave completion bash|zsh|fish|powershell`: prints a shell script that calls `conclave complete`. */
import tab from '@bomb.sh/tab/commander'
import type { Command } from 'commander'
import { print, printJson } from './output.ts'

type Shell = 'bash' | 'zsh' | 'fish' | 'powershell'

/**
 * A script for bash that does not need the package bash-completion, which is not installed everywhere. It calls the
 * program that is being typed, so it also works for bin/conclave. It falls back to file names.
 */
const BASH = `# bash completion for conclave: source <(conclave completion bash)
__conclave_complete() {
    # The words up to the cursor, as typed: bash splits them at every = and :
    local line=\${COMP_LINE:0:COMP_POINT} words=() word i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=\${COMP_WORDS[i]}
        if ((i > 0)) && [[ $line != [[:space:]]* ]]; then
            words[\${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        line=\${line#"\${line%%[![:space:]]*}"}
        line=\${line#"$word"}
    done
    local cur=\${words[\${#words[@]} - 1]} value
    # The part of this word that bash already has on the line.
    local kept=\${cur%"\${cur##*[=:]}"}
    [[ \${COMP_WORDBREAKS-} == *[=:]* ]] || kept=
    COMPREPLY=()
    while IFS=$'\\t' read -r value _; do
        [[ $value != :* && $value == "$cur"* ]] && COMPREPLY+=("\${value#"$kept"}")
    done < <("\${words[0]/#\\~/$HOME}" complete -- "\${words[@]:1}" 2>/dev/null)
}
complete -o bashdefault -o default -F __conclave_complete conclave`

/** Makes sourcing enough in a zsh that has not set up completion. */
const ZSH_FIRST = `#compdef conclave
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }`

/** Adds the commands `completion` and `complete`. Call it last: they offer the commands that exist by then. */
export function addCompletion(root: Command): void {
  const scripts = tab(root, { completionCommandName: 'completion' })
  root.commands
    .find((command) => command.name() === 'completion')
    ?.description('print a script that completes commands and flags in your shell')
    .addHelpText(
      'after',
      `
Examples:
  source <(conclave completion bash)
  source <(conclave completion zsh)
  conclave completion fish > ~/.config/fish/completions/conclave.fish`,
    )
    .option('--json', 'print one JSON object, with the script as "script"')
    .action((shell: Shell, flags: { readonly json?: true }) => {
      const whole = shell === 'bash' ? BASH : captureLog(() => scripts.setup(root.name(), root.name(), shell))
      const script = shell === 'zsh' ? `${ZSH_FIRST}\n${whole}` : whole
      if (flags.json === true) printJson({ shell, script })
      else for (const line of script.split('\n')) print(line)
    })
}

/** Returns the text that `write` prints with console.log. */
function captureLog(write: () => void): string {
  const { log } = console
  const lines: string[] = []
  console.log = (...words: readonly unknown[]) => void lines.push(words.join(' '))
  try {
    write()
  } finally {
    console.log = log
  }
  return lines.join('\n')
}
