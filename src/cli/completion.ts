/** `conclave completion bash|zsh|fish|powershell`: a script for the shell, which asks `conclave complete` what fits. */
import tab from '@bomb.sh/tab/commander'
import type { Command } from 'commander'
import { print, printJson } from './output.ts'

type Shell = 'bash' | 'zsh' | 'fish' | 'powershell'

/**
 * For bash alone: the package bash-completion, whose functions other scripts call, is not installed everywhere. Asks the
 * very program that is being typed, so that it works for bin/conclave too. File names fit where nothing else does.
 */
const BASH = `# bash completion for conclave: source <(conclave completion bash)
__conclave_complete() {
    # Words as they were typed up to the cursor: bash takes them apart at every = and :
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
    # What bash already has on the line of this word.
    local kept=\${cur%"\${cur##*[=:]}"}
    [[ \${COMP_WORDBREAKS-} == *[=:]* ]] || kept=
    COMPREPLY=()
    while IFS=$'\\t' read -r value _; do
        [[ $value != :* && $value == "$cur"* ]] && COMPREPLY+=("\${value#"$kept"}")
    done < <("\${words[0]/#\\~/$HOME}" complete -- "\${words[@]:1}" 2>/dev/null)
}
complete -o bashdefault -o default -F __conclave_complete conclave`

/** So that sourcing is enough where nothing has set completion up before. */
const ZSH_FIRST = `#compdef conclave
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }`

/** Adds both commands; after all others, which they are to know. */
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
      const whole = shell === 'bash' ? BASH : logged(() => scripts.setup(root.name(), root.name(), shell))
      const script = shell === 'zsh' ? `${ZSH_FIRST}\n${whole}` : whole
      if (flags.json === true) printJson({ shell, script })
      else for (const line of script.split('\n')) print(line)
    })
}

/** What it would write to the console. */
function logged(write: () => void): string {
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
