/** The effective configuration, for people (YAML that can be used as a file, with the origin of each field) and programs. */
import type { Config } from './config.ts'
import { yaml } from './yaml.ts'

type Fields = { readonly [field: string]: unknown }

export function effectiveJson({ process, groups, from, warnings }: Config): object {
  return {
    ...process,
    groups: groups.map(({ node }) => hideSecrets(node)),
    from: { ...from, groups: groups.map((group) => group.from) },
    warnings,
  }
}

export function effectiveText({ process, groups, from }: Config): string {
  const [only] = groups
  const lines = block(process, from, '')
  if (groups.length === 1 && only !== undefined)
    return [...block(hideSecrets(only.node), only.from, ''), ...lines].join('\n')
  const listed = groups.flatMap((group) => {
    const [first = '', ...rest] = block(hideSecrets(group.node), group.from, '    ')
    return [`  - ${first.trimStart()}`, ...rest]
  })
  return [...lines, 'groups:', ...listed].join('\n')
}

/** Without secrets: a user of the file adds them again. */
function hideSecrets({ store, fencing, ...node }: Fields): Fields {
  return {
    ...node,
    ...(store === undefined ? {} : { store: shownStore(store) }),
    ...(Array.isArray(fencing) ? { fencing: fencing.map((device: Fields) => shownDevice(device)) } : {}),
  }
}

function shownStore(store: unknown): unknown {
  if (store === null || typeof store !== 'object') return store
  const hidden = Object.entries(store).map(([field, value]) => {
    if (['password', 'secretAccessKey', 'sessionToken'].includes(field)) return [field, '***']
    return [field, field === 'url' ? withoutToken(withoutPassword(value)) : value]
  })
  return Object.fromEntries(hidden) as object
}

/** All options and headers of a device may be secret. */
function shownDevice(device: Fields): Fields {
  const hide = (named: unknown): Fields =>
    Object.fromEntries(Object.keys((named ?? {}) as Fields).map((name) => [name, '***']))
  return {
    ...device,
    ...('options' in device ? { options: hide(device['options']) } : {}),
    ...('headers' in device ? { headers: hide(device['headers']) } : {}),
    ...('url' in device ? { url: withoutPassword(device['url']) } : {}),
  }
}

function withoutPassword(url: unknown): string {
  return String(url)
    .replace(/(:\/\/[^:@/]*):[^/]*@/, '$1:***@')
    .replaceAll(/([?&]password=)[^&#]*/gi, '$1***')
}

/** NATS: a user without a password is a token. */
function withoutToken(url: string): string {
  return url.replace(/^((?:nats|tls):\/\/)[^:@/]+@/i, '$1***@')
}

function block(
  fields: Fields,
  from: { readonly [field: string]: string },
  indent: string,
): readonly string[] {
  return Object.entries(fields).flatMap(([field, value]) => {
    if (value === undefined) return []
    const text = yaml()
      .stringify({ [field]: value }, { flowCollectionPadding: true, collectionStyle: 'flow', lineWidth: 0 })
      .trim()
      .replace(/^\{ (.*) \}$/s, '$1')
    // Strings with line breaks would take several lines. JSON, which is YAML too, escapes them.
    const line = text.includes('\n') ? `${field}: ${JSON.stringify(value)}` : text
    return [`${indent}${line}  # ${from[field] ?? ''}`]
  })
}
