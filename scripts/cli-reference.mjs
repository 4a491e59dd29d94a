// The text of docs/reference/cli.md, from the commands themselves. Written by scripts/reference.mjs.
import { createProgram } from '../dist/cli/commands.js'

const WIDTH = 100

/** A command's help as it is printed, without colours, at a fixed width. */
function helpOf(command) {
  let printed = ''
  command.configureHelp({ helpWidth: WIDTH })
  command.configureOutput({
    writeOut: (text) => (printed += text),
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
  })
  command.outputHelp()
  return printed.trimEnd()
}

function sectionOf(level, command, parent = '') {
  return `${level} conclave ${parent}${command.name()}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\``
}

/** The page between its marks. */
export async function cliReferenceText() {
  const root = await createProgram('')
  const commands = root.commands.filter(({ _hidden }) => _hidden !== true)
  const rows = commands.map((command) => {
    const name = command.name()
    return `| [\`${name}\`](#conclave-${name}) | ${command.description().replaceAll('|', '\\|')} |`
  })
  const sections = commands.flatMap((command) => [
    sectionOf('##', command),
    ...command.commands.map((inner) => sectionOf('###', inner, `${command.name()} `)),
  ])
  return [`| command | what it does |\n| --- | --- |\n${rows.join('\n')}`, ...sections].join('\n\n')
}
