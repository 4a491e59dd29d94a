/** `conclave completion bash|zsh|fish|powershell`: a script for the shell, which asks `conclave complete` what fits. */
import tab from '@bomb.sh/tab/commander'
import type { Command } from 'commander'

/** Adds both commands; after all others, which they are to know. */
export function addCompletion(root: Command): void {
  tab(root, { completionCommandName: 'completion' })
  root.commands
    .find((command) => command.name() === 'completion')
    ?.description('print a script that completes commands and flags in your shell')
    .addHelpText(
      'after',
      `
Examples:
  source <(conclave completion bash)
  conclave completion fish > ~/.config/fish/completions/conclave.fish`,
    )
}
