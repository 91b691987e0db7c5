import fc from 'fast-check'
import t from 'tap'
import type { HTTPPathMatch, HTTPRoute, HTTPRouteMatch, HTTPValueMatch } from '../../src/kinds/index.js'
import type { Match, Rule, ValueMatch } from '../../src/model/index.js'
import { aClass, aGateway, aListener, aRoute, aService, aWorld, type World } from './world.js'

interface Request {
  readonly host: string
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}

// ---- The specification, read literally: all candidates, narrowed criterion by criterion. ----

interface Candidate {
  readonly route: HTTPRoute
  readonly hostname: string
  readonly rule: number
  readonly match: number
  readonly spec: HTTPRouteMatch
}

const isWildcard = (hostname: string) => hostname.startsWith('*')
const takesHost = (hostname: string, host: string) =>
  hostname === '*' || hostname === host || (isWildcard(hostname) && host.endsWith(hostname.slice(1)))

/** Exact before wildcard, more dots before fewer, none last. */
function oracleListener(hostnames: readonly string[], host: string): string | undefined {
  const taking = hostnames.filter(hostname => takesHost(hostname, host))
  const dots = (hostname: string) => hostname.split('.').length
  return taking.find(hostname => hostname === host) ?? taking.sort((a, b) => dots(b) - dots(a))[0]
}

function elements(path: string): string[] {
  return path.split('/').filter(element => element !== '')
}

function pathMeets({ type, value }: HTTPPathMatch, path: string): boolean {
  if (type === 'Exact') return path === value
  if (type === 'RegularExpression') return new RegExp(`^(?:${value!})$`).test(path)
  const wanted = elements(value!)
  return wanted.every((element, i) => elements(path)[i] === element)
}

function valuesMeet(
  wanted: readonly HTTPValueMatch[],
  had: Readonly<Record<string, string>>,
  fold: (n: string) => string,
) {
  const seen = new Set<string>()
  return wanted.every(({ name, value, type }) => {
    if (seen.has(fold(name))) return true
    seen.add(fold(name))
    const got = had[fold(name)]
    return (
      got !== undefined &&
      (type === 'RegularExpression' ? new RegExp(`^(?:${value})$`).test(got) : got === value)
    )
  })
}

const lower = (name: string) => name.toLowerCase()
const asIs = (name: string) => name

function meets({ path, method, headers = [], queryParams = [] }: HTTPRouteMatch, request: Request): boolean {
  return (
    pathMeets(path!, request.path) &&
    (method === undefined || method === request.method) &&
    valuesMeet(headers, request.headers, lower) &&
    valuesMeet(queryParams, request.query, asIs)
  )
}

const distinct = (matches: readonly HTTPValueMatch[] = [], fold: (n: string) => string) =>
  new Set(matches.map(({ name }) => fold(name))).size
const characters = ({ value = '' }: HTTPPathMatch) => `/${elements(value).join('/')}`.length

/** Largest first. */
const criteria: readonly ((candidate: Candidate) => number)[] = [
  ({ hostname }) => (isWildcard(hostname) ? 0 : hostname.length),
  ({ hostname }) => hostname.length,
  ({ spec }) => Number(spec.path!.type === 'Exact'),
  ({ spec }) => (spec.path!.type === 'RegularExpression' ? spec.path!.value!.length : 0),
  ({ spec }) => (spec.path!.type === 'PathPrefix' ? characters(spec.path!) : 0),
  ({ spec }) => Number(spec.method !== undefined),
  ({ spec }) => distinct(spec.headers, lower),
  ({ spec }) => distinct(spec.queryParams, asIs),
]

function oracle(routes: readonly HTTPRoute[], listener: string, request: Request): Candidate | undefined {
  let left = routes.flatMap(route =>
    (route.spec.hostnames ?? ['*'])
      .filter(hostname => takesHost(hostname, request.host))
      // What counts is what the hostname and the listener's have in common.
      .map(hostname => (takesHost(listener, hostname) ? hostname : listener))
      .flatMap(hostname =>
        route.spec.rules!.flatMap((rule, r) =>
          rule.matches!.map((spec, m) => ({ route, hostname, rule: r, match: m, spec })),
        ),
      ),
  )
  left = left.filter(({ spec }) => meets(spec, request))
  for (const criterion of criteria) {
    const most = Math.max(...left.map(criterion))
    left = left.filter(candidate => criterion(candidate) === most)
  }
  const oldest = left.map(({ route }) => route.metadata.creationTimestamp!).sort()[0]
  left = left.filter(({ route }) => route.metadata.creationTimestamp === oldest)
  const first = left.map(({ route }) => route.metadata.name).sort()[0]
  left = left.filter(({ route }) => route.metadata.name === first)
  return left.sort((a, b) => a.rule - b.rule || a.match - b.match)[0]
}

// ---- A proxy that takes the first rule of the host it chooses, as Envoy does. ----

function modelMeets({ path, method, headers, queryParams }: Match, request: Request): boolean {
  const slash = path.value === '/' ? '/' : `${path.value}/`
  const byType = {
    Exact: () => request.path === path.value,
    PathPrefix: () => request.path === path.value || request.path.startsWith(slash),
    RegularExpression: () => new RegExp(`^(?:${path.value})$`).test(request.path),
  }
  const all = (wanted: readonly ValueMatch[], had: Readonly<Record<string, string>>) =>
    wanted.every(({ name, type, value }) =>
      had[name] === undefined
        ? false
        : type === 'Exact'
          ? had[name] === value
          : new RegExp(`^(?:${value})$`).test(had[name]),
    )
  return (
    byType[path.type]() &&
    (method === undefined || method === request.method) &&
    all(headers, request.headers) &&
    all(queryParams, request.query)
  )
}

function proxied(world: World, request: Request): Rule | undefined {
  const hosts = [...world.model.hosts.entries()].map(([, host]) => host)
  const wildcards = hosts.filter(({ host }) => isWildcard(host)).sort((a, b) => b.host.length - a.host.length)
  const chosen =
    hosts.find(({ host }) => host === request.host) ??
    wildcards.find(({ host }) => takesHost(host, request.host))
  return chosen?.rules.find(({ match }) => modelMeets(match, request))
}

// ---- Worlds and requests from small alphabets, so that things meet. ----

const pathMatch = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('Exact' as const),
      value: fc.constantFrom('/', '/a', '/a/b', '/a/'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('PathPrefix' as const),
      value: fc.constantFrom('/', '/a', '/a/', '/a/b', '/b'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('RegularExpression' as const),
      value: fc.constantFrom('/a.*', '/[ab]', '/.*'),
    }),
  },
)
const valueMatch = (names: readonly string[]) =>
  fc.record({
    type: fc.constantFrom('Exact' as const, 'RegularExpression' as const),
    name: fc.constantFrom(...names),
    value: fc.constantFrom('1', '2', '.'),
  })
const match = fc.record(
  {
    path: pathMatch,
    method: fc.constantFrom('GET', 'POST'),
    headers: fc.array(valueMatch(['h', 'H', 'x']), { maxLength: 3 }),
    queryParams: fc.array(valueMatch(['q', 'p']), { maxLength: 2 }),
  },
  { requiredKeys: ['path'] },
)
const hostname = fc.constantFrom('a.test', 'b.a.test', '*.test', '*.a.test', '*.b.a.test')
const route = fc.record({
  hostnames: fc.option(fc.uniqueArray(hostname, { minLength: 1, maxLength: 3 }), { nil: undefined }),
  createdAt: fc.constantFrom('2024-01-01T00:00:00Z', '2025-01-01T00:00:00Z'),
  /** The listener it asks for, by number; a missing one means all. */
  section: fc.option(fc.nat(2), { nil: undefined }),
  rules: fc.array(fc.array(match, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 }),
})
const value = fc.constantFrom('1', '2')
const request: fc.Arbitrary<Request> = fc.record({
  host: fc.constantFrom('a.test', 'b.a.test', 'c.b.a.test', 'c.test', 'else.where'),
  path: fc.constantFrom('/', '/a', '/a/', '/a/b', '/a/b/c', '/ab', '/b'),
  method: fc.constantFrom('GET', 'POST', 'PUT'),
  headers: fc.record({ h: value, x: value }, { requiredKeys: [] }),
  query: fc.record({ q: value, p: value }, { requiredKeys: [] }),
})
const listeners: fc.Arbitrary<readonly string[]> = fc.constantFrom(
  ['*'],
  ['*', '*.test'],
  ['*', '*.a.test', 'a.test'],
  ['*.test', 'b.a.test'],
)

const parent = (section: number | undefined) => ({
  name: 'public',
  ...(section !== undefined && { sectionName: `l${section}` }),
})

t.test('the first rule of the chosen host is what a literal reading of the specification chooses', t => {
  let met = 0
  fc.assert(
    fc.property(
      listeners,
      fc.array(route, { minLength: 1, maxLength: 5 }),
      fc.array(request, { minLength: 10, maxLength: 20 }),
      (hostnames, specs, requests) => {
        const routes = specs.map(({ rules, createdAt, section, hostnames: own }, i) =>
          aRoute(
            `r${i}`,
            rules.map(matches => ({
              matches: matches,
              backendRefs: [{ name: 'web', port: 8080 }],
            })),
            { createdAt, parentRefs: [parent(section)], ...(own && { hostnames: own }) },
          ),
        )
        const gateway = aGateway(
          'public',
          hostnames.map((host, i) => aListener(`l${i}`, 80, host === '*' ? {} : { hostname: host })),
        )
        const world = aWorld([aClass(), gateway, aService('web'), ...routes])
        for (const each of requests) {
          const listener = oracleListener(hostnames, each.host)
          const section = `l${hostnames.indexOf(listener ?? '')}`
          const attached = routes.filter(
            ({ spec }) => (spec.parentRefs![0]!.sectionName ?? section) === section,
          )
          const best = listener === undefined ? undefined : oracle(attached, listener, each)
          const expected = best && `shop/${best.route.metadata.name}#rule-${best.rule + 1}/${best.match}`
          const got = proxied(world, each)?.id.replace(/^.*:/, '')
          if (expected !== undefined) met++
          if (got !== expected)
            throw new Error(`${JSON.stringify(each)}: ${got ?? 'none'}, not ${expected ?? 'none'}`)
        }
      },
    ),
    { numRuns: 300 },
  )
  t.ok(met > 500, `rules were found for ${met} requests`)
  t.end()
})

const order = (world: World, host: string) =>
  [...world.model.hosts.entries()]
    .filter(([, each]) => each.host === host)
    .flatMap(([, { rules }]) => rules.map(({ id }) => id.replace(/^.*:shop\//, '')))

t.test('a method match goes before two header matches', t => {
  const headers = ['a', 'b'].map(name => ({ name, value: '1' }))
  const world = aWorld([
    aClass(),
    aGateway('public', [aListener('http', 80)]),
    aRoute('two-headers', [{ matches: [{ headers }] }], { createdAt: '2020-01-01T00:00:00Z' }),
    aRoute('one-method', [{ matches: [{ method: 'GET' }] }], { createdAt: '2024-01-01T00:00:00Z' }),
  ])
  t.strictSame(order(world, '*'), ['one-method#rule-1/0', 'two-headers#rule-1/0'])
  t.end()
})

t.test('without timestamps ties go by namespace and name, whatever the order of arrival', t => {
  const base = [aClass(), aGateway('public', [aListener('http', 80)])]
  const [a, b] = [aRoute('a', [{}]), aRoute('b', [{}])]
  t.strictSame(order(aWorld([...base, b, a]), '*'), ['a#rule-1/0', 'b#rule-1/0'])
  t.strictSame(order(aWorld([...base, a, b]), '*'), ['a#rule-1/0', 'b#rule-1/0'])
  t.end()
})
