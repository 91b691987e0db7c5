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
  const parts = partsOf(text).map(part => part.trim())
  const requirements = parts.filter(part => part !== '').map(requirementOf)
  if (requirements.includes(undefined)) return undefined
  return labels => requirements.every(isMet => isMet?.(labels))
}

/** What stands between commas, but for those of a list in parentheses. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = []
  let [start, isInList] = [0, false]
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '(' || character === ')') isInList = character === '('
    else if (character === ',' && !isInList) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...parts, text.slice(start)]
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
