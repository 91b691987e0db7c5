type Labels = Readonly<Record<string, string>>
type Requirement = (labels: Labels) => boolean

const key = '[A-Za-z0-9_./-]+'
const forms: readonly (readonly [RegExp, (name: string, value: string) => Requirement])[] = [
  [new RegExp(`^(${key})\\s*(?:=|==)\\s*(${key}|)$`), (name, value) => labels => labels[name] === value],
  [new RegExp(`^(${key})\\s*!=\\s*(${key}|)$`), (name, value) => labels => labels[name] !== value],
  [new RegExp(`^(${key})\\s+in\\s*\\(([^()]*)\\)$`), (name, list) => labels => among(list, labels[name])],
  [new RegExp(`^(${key})\\s+notin\\s*\\(([^()]*)\\)$`), (name, list) => labels => !among(list, labels[name])],
  [new RegExp(`^(${key})()$`), name => labels => name in labels],
  [new RegExp(`^!\\s*(${key})()$`), name => labels => !(name in labels)],
]

/**
 * A label selector as it stands in URLs of the API server (`app=shop,tier in (web, api),!canary`); undefined when the
 * text is none.
 */
export function parseSelector(text: string): Requirement | undefined {
  const parts = text.split(/,(?![^(]*\))/).map(part => part.trim())
  const requirements = parts.filter(part => part !== '').map(requirementOf)
  if (requirements.includes(undefined)) return undefined
  return labels => requirements.every(isMet => isMet?.(labels))
}

function requirementOf(part: string): Requirement | undefined {
  for (const [form, requirement] of forms) {
    const [, name, value] = form.exec(part) ?? []
    if (name !== undefined) return requirement(name, value ?? '')
  }
  return undefined
}

function among(list: string, value: string | undefined): boolean {
  return value !== undefined && list.split(',').some(item => item.trim() === value)
}
