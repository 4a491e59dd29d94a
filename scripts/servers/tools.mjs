// Programs that tests run and that are not servers. One entry per program: its Debian package, and how it is found.
import { onPath } from './recipes.mjs'

const named = (name, inPackage) => ({ package: inPackage, program: () => onPath(name) })

export const TOOLS = {
  python3: named('python3', 'python3'),
  go: named('go', 'golang-go'),
  promtool: named('promtool', 'prometheus'),
  'systemd-analyze': named('systemd-analyze', 'systemd'),
  kubectl: named('kubectl', 'kubernetes-client'),
  buildah: named('buildah', 'buildah'),
  openssl: named('openssl', 'openssl'),
  tmux: named('tmux', 'tmux'),
  zsh: named('zsh', 'zsh'),
  fish: named('fish', 'fish'),
  chromium: named('chromium', 'chromium'),
  mypy: named('mypy', 'mypy'),
}
