import fc from 'fast-check'
import t from 'tap'
import {
  createAdmission,
  crossChecks,
  decideAdmission,
  reviewAdmission,
  timeoutOf,
  type AdmissionOptions,
  type AdmissionRequest,
  type CrossCheck,
} from '../../src/sources/index.js'
import { locatorOf, manualClock, nextTurn, type KubeObject, type Locator } from '../../src/core/index.js'
import { controllerName, validate, type HTTPRouteMatch } from '../../src/kinds/index.js'
import { createStore } from '../../src/store/index.js'
import { selfSigned } from '../support/certificates.js'

const group = 'gateway.networking.k8s.io'

function anObject(
  kind: string,
  name: string,
  spec: object,
  namespace = 'shop',
  apiVersion = `${group}/v1`,
): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace, uid: `uid-${name}` }, spec } as KubeObject
}

const aRoute = (spec: object, name = 'r') => anObject('HTTPRoute', name, spec)

function aRequest(object: KubeObject, rest: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const [of = '', version = 'v1'] = object.apiVersion.includes('/')
    ? object.apiVersion.split('/')
    : ['', 'v1']
  return {
    uid: 'review-1',
    kind: { group: of, version, kind: object.kind },
    operation: 'CREATE',
    namespace: object.metadata.namespace ?? '',
    name: object.metadata.name,
    object,
    ...rest,
  }
}

const clusterWide = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: { name: object.metadata.name, ...(object.metadata.labels && { labels: object.metadata.labels }) },
})
const aClass = (name: string, controller = controllerName) =>
  clusterWide(anObject('GatewayClass', name, { controllerName: controller }))

async function warningsFor(
  object: KubeObject,
  others: readonly KubeObject[],
  options: Partial<AdmissionOptions> = {},
): Promise<readonly string[]> {
  const { verdict } = await decideAdmission(aRequest(object), { snapshot: snapshotOf(...others), ...options })
  t.equal(verdict.allowed, true, JSON.stringify(verdict.status))
  return verdict.warnings ?? []
}

function snapshotOf(...objects: readonly KubeObject[]) {
  const store = createStore({ freeze: true })
  store.apply(objects.map(object => ({ type: 'upsert', object })))
  return store.snapshot()
}

const nothing = snapshotOf()
const aService = (name: string, namespace = 'shop') =>
  anObject('Service', name, { ports: [{ port: 80 }] }, namespace, 'v1')
const aGateway = anObject('Gateway', 'public', {
  gatewayClassName: 'gatewright',
  listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }],
})

t.test('a review', t => {
  t.test('is answered with its uid, and leaves a hint where the object may change', async t => {
    const object = aService('cart')
    const body = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: aRequest(object) }
    t.strictSame(await reviewAdmission(body, { snapshot: nothing }), {
      review: {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid: 'review-1', allowed: true },
      },
      hint: { kind: 'service', key: 'service:shop/cart', operation: 'CREATE', uid: 'uid-cart' },
    })
  })

  t.test('that is malformed is a problem with its field', async t => {
    const good = {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: aRequest(aService('a')),
    }
    const bad: readonly (readonly [unknown, string])[] = [
      [null, ''],
      ['text', ''],
      [{ ...good, apiVersion: 'admission.k8s.io/v1beta1' }, ''],
      [{ ...good, request: undefined }, 'request'],
      [{ ...good, request: { ...good.request, uid: 7 } }, 'request.uid'],
      [{ ...good, request: { ...good.request, kind: { kind: 'Service' } } }, 'request.kind'],
      [{ ...good, request: { ...good.request, operation: 'PATCH' } }, 'request.operation'],
    ]
    for (const [body, path] of bad) {
      t.match(await reviewAdmission(body, { snapshot: nothing }), { problem: { severity: 'error', path } })
    }
  })
  t.end()
})

t.test('a decision', t => {
  t.test(
    'denies what is not valid with every reason, in the words of the API server, and no hint',
    async t => {
      const route = aRoute({
        hostnames: ['not a host'],
        rules: [{ matches: [{ path: { type: 'Odd', value: '/' } }] }],
      })
      const { verdict, hint } = await decideAdmission(aRequest(route), { snapshot: nothing })
      t.match(verdict, {
        allowed: false,
        status: {
          code: 422,
          reason: 'Invalid',
          message: /^HTTPRoute\.gateway\.networking\.k8s\.io "r" is invalid: \[.*spec\.hostnames\[0\]: /,
          details: { group, kind: 'HTTPRoute', name: 'r' },
        },
      })
      const causes = verdict.status?.details.causes ?? []
      t.match(causes.map(({ field, reason }) => `${field} ${reason}`).sort(), [
        /^spec.hostnames\[0\] FieldValueInvalid/,
        /^spec.rules\[0\].matches\[0\].path.type FieldValueNotSupported/,
      ])
      t.equal(hint, undefined)
    },
  )

  t.test('looks at the object before where a rule compares the two', async t => {
    const before = aRoute({ hostnames: ['not a host'] })
    const after = { ...before, metadata: { ...before.metadata, labels: { a: 'b' } } }
    const update = { operation: 'UPDATE', oldObject: before } as const
    t.equal((await decideAdmission(aRequest(after), { snapshot: nothing })).verdict.allowed, false)
    t.equal(
      (await decideAdmission(aRequest(after, update), { snapshot: nothing })).verdict.allowed,
      true,
      'what was wrong before and is unchanged is let through',
    )
    const gatewayClass = (controllerName: string): KubeObject => ({
      ...anObject('GatewayClass', 'c', { controllerName }),
      metadata: { name: 'c' },
    })
    const moved = aRequest(gatewayClass('other.example/b'), {
      operation: 'UPDATE',
      oldObject: gatewayClass('gatewright.io/gateway-controller'),
    })
    t.match((await decideAdmission(moved, { snapshot: nothing })).verdict, {
      allowed: false,
      status: { message: /immutable/ },
    })
  })

  t.test('has no opinion of kinds and subresources that are none of its business', async t => {
    const pod = anObject('Pod', 'p', { anything: 1 }, 'shop', 'v1')
    t.strictSame(await decideAdmission(aRequest(pod), { snapshot: nothing }), { verdict: { allowed: true } })
    const status = aRequest(aRoute({ rules: 7 }), { subResource: 'status', operation: 'UPDATE' })
    t.strictSame(await decideAdmission(status, { snapshot: nothing }), { verdict: { allowed: true } })
    const connect = aRequest(aService('a'), { operation: 'CONNECT' })
    t.strictSame(await decideAdmission(connect, { snapshot: nothing }), { verdict: { allowed: true } })
  })

  t.test('allows every delete and hints at it; a dry run leaves no trace', async t => {
    const object = aService('cart')
    const gone = { uid: 'r', operation: 'DELETE', object: null, oldObject: object } as const
    t.strictSame(await decideAdmission(aRequest(object, gone), { snapshot: nothing }), {
      verdict: { allowed: true },
      hint: { kind: 'service', key: 'service:shop/cart', operation: 'DELETE', uid: 'uid-cart' },
    })
    t.strictSame(await decideAdmission(aRequest(object, { dryRun: true }), { snapshot: nothing }), {
      verdict: { allowed: true },
    })
  })

  t.test('names unknown fields as warnings: this schema may be the older one', async t => {
    const { verdict } = await decideAdmission(aRequest(aRoute({ novelty: 1 })), { snapshot: nothing })
    t.match(verdict, { allowed: true, warnings: [/spec\.novelty/] })
  })

  t.test('denies an object of another kind than it is asked about', async t => {
    const request = { ...aRequest(aRoute({})), object: aService('a') }
    t.match(
      (await decideAdmission(request, { snapshot: nothing })).verdict.status?.message,
      /kind: .*"Service"/,
    )
  })

  t.test('survives whatever is sent as an object', async t => {
    for (const object of [null, {}, { metadata: 7 }, { apiVersion: 'v1', kind: 'Service' }, []]) {
      const request = { ...aRequest(aService('a')), object } as AdmissionRequest
      t.equal((await decideAdmission(request, { snapshot: nothing })).verdict.allowed, false)
    }
  })
  t.end()
})

t.test('what may still arrive is a warning, so that the order of creation never matters', t => {
  t.test('parents, their sections, backends, their ports, and grants', async t => {
    const route = aRoute({
      parentRefs: [{ name: 'public', sectionName: 'https' }, { name: 'private' }],
      rules: [
        {
          backendRefs: [
            { name: 'cart', port: 80 },
            { name: 'pay', namespace: 'bank', port: 80 },
          ],
          filters: [{ type: 'RequestMirror', requestMirror: { backendRef: { name: 'copy', port: 81 } } }],
        },
      ],
    })
    const warnings = (...objects: readonly KubeObject[]) => warningsFor(route, objects)
    t.strictSame(await warnings(), [
      'spec.parentRefs[0]: Gateway shop/public does not exist yet',
      'spec.parentRefs[1]: Gateway shop/private does not exist yet',
      'spec.rules[0].backendRefs[0]: Service shop/cart does not exist yet',
      'spec.rules[0].filters[0].requestMirror.backendRef: Service shop/copy does not exist yet',
      'spec.rules[0].backendRefs[1]: no ReferenceGrant in namespace bank allows it',
    ])
    const privateGateway = { ...aGateway, metadata: { ...aGateway.metadata, name: 'private' } }
    const world = [aGateway, privateGateway, aService('cart'), aService('copy')]
    const known = [
      'spec.parentRefs[0].sectionName: Gateway shop/public has no listener "https"',
      'spec.rules[0].filters[0].requestMirror.backendRef.port: Service shop/copy has no port 81',
    ]
    const closed = 'spec.rules[0].backendRefs[1]: no ReferenceGrant in namespace bank allows it'
    t.strictSame(await warnings(...world), [...known, closed])
    t.strictSame(
      await warnings(...world, aService('pay', 'bank')),
      [...known, closed],
      'whether something is there behind a closed door is not told',
    )
    const grant = (name?: string) => {
      const from = [{ group, kind: 'HTTPRoute', namespace: 'shop' }]
      const to = [{ group: '', kind: 'Service', ...(name !== undefined && { name }) }]
      return anObject('ReferenceGrant', 'g', { from, to }, 'bank')
    }
    const unpaid = 'spec.rules[0].backendRefs[1]: Service bank/pay does not exist yet'
    t.strictSame((await warnings(...world, grant())).includes(unpaid), true)
    t.strictSame(await warnings(...world, grant('other')), [...known, closed])
    t.strictSame(await warnings(...world, grant('pay'), aService('pay', 'bank')), known)
  })

  t.test('the same for the other kinds of route, which are only validated yet', async t => {
    const parentRefs = [{ name: 'public', sectionName: 'tcp' }]
    const rules = [{ backendRefs: [{ name: 'db', port: 5432 }] }]
    const route = anObject('TCPRoute', 'r', { parentRefs, rules })
    t.strictSame(await warningsFor(route, [aGateway, aClass('gatewright')]), [
      'spec.parentRefs[0].sectionName: Gateway shop/public has no listener "tcp"',
      'kind: TCPRoute is only validated: this version does not serve it',
      'spec.rules[0].backendRefs[0]: Service shop/db does not exist yet',
    ])
    const listeners = [{ name: 'l', port: 80, protocol: 'HTTP', tls: undefined }]
    const set = anObject('ListenerSet', 's', { parentRef: { name: 'public' }, listeners })
    t.strictSame(await warningsFor(set, []), ['spec.parentRef: Gateway shop/public does not exist yet'])
    const policy = (sectionName: string) =>
      anObject('BackendTLSPolicy', 'p', {
        targetRefs: [{ group: '', kind: 'Service', name: 'cart', sectionName }],
        validation: { hostname: 'cart.example.com', wellKnownCACertificates: 'System' },
      })
    t.strictSame(await warningsFor(policy('https'), [aService('cart')]), [
      'spec.targetRefs[0].sectionName: Service shop/cart has no port named "https"',
    ])
    t.strictSame(await warningsFor(policy('https'), []), [
      'spec.targetRefs[0]: Service shop/cart does not exist yet',
    ])
  })

  t.test('listeners that do not take a route, from the farthest to the nearest', async t => {
    const listener = { name: 'http', port: 80, protocol: 'HTTP' }
    const world = (...listeners: readonly object[]) => [
      anObject('Gateway', 'public', { gatewayClassName: 'gatewright', listeners }, 'infra'),
      clusterWide({
        ...anObject('Namespace', 'shop', {}, '', 'v1'),
        metadata: { name: 'shop', labels: { team: 'a' } },
      }),
    ]
    const route = (parent: object, ...hostnames: readonly string[]) =>
      aRoute({
        parentRefs: [{ name: 'public', namespace: 'infra', ...parent }],
        ...(hostnames.length > 0 && { hostnames }),
      })
    const from = (namespaces: object) => ({ ...listener, allowedRoutes: { namespaces } })
    const open = from({ from: 'All' })
    const selected = (team: string) => from({ from: 'Selector', selector: { matchLabels: { team } } })
    const its = 'Gateway infra/public'
    const cases: readonly (readonly [KubeObject, readonly object[], readonly string[]])[] = [
      [route({ port: 81 }), [open], [`spec.parentRefs[0].port: ${its} has no such listener on port 81`]],
      [
        route({}),
        [{ ...open, protocol: 'TCP' }],
        [`spec.parentRefs[0]: no listener of ${its} takes HTTPRoutes`],
      ],
      [
        route({}),
        [{ ...open, allowedRoutes: { ...open.allowedRoutes, kinds: [{ kind: 'GRPCRoute' }] } }],
        [`spec.parentRefs[0]: no listener of ${its} takes HTTPRoutes`],
      ],
      [route({}), [listener], [`spec.parentRefs[0]: no listener of ${its} takes routes of namespace shop`]],
      [
        route({}),
        [selected('b')],
        [`spec.parentRefs[0]: no listener of ${its} takes routes of namespace shop`],
      ],
      [route({}), [selected('a')], []],
      [
        route({ sectionName: 'http' }, 'b.com'),
        [
          { ...open, hostname: '*.a.com' },
          { ...open, name: 'b', hostname: 'b.com' },
        ],
        [`spec.parentRefs[0]: no hostname of the route is one of listener "http" of ${its}`],
      ],
      [
        route({}, 'x.a.com', 'b.com'),
        [
          { ...open, hostname: '*.a.com' },
          { ...open, name: 'c', hostname: 'c.com' },
        ],
        [`spec.hostnames[1]: b.com is not a hostname of any listener of ${its}`],
      ],
      [route({}, 'x.a.com', '*.com'), [{ ...open, hostname: '*.a.com' }], []],
    ]
    for (const [object, listeners, expected] of cases)
      t.strictSame(await warningsFor(object, world(...listeners)), expected)
  })

  t.test('and nothing where another controller is in charge', async t => {
    const spec = { gatewayClassName: 'theirs', listeners: [{ name: 'x', port: 1, protocol: 'TCP' }] }
    const theirs = anObject('Gateway', 'theirs', spec)
    const route = aRoute({
      parentRefs: [{ name: 'theirs', sectionName: 'none' }],
      rules: [{ backendRefs: [{ name: 'missing', port: 1 }] }],
    })
    const world = [theirs, aClass('theirs', 'example.com/other')]
    t.strictSame(await warningsFor(route, world), [])
    t.strictSame(await warningsFor(theirs, world), [])
    t.strictSame(await warningsFor(theirs, []), [
      'spec.gatewayClassName: GatewayClass theirs does not exist yet',
      'spec.listeners[0].protocol: TCP is not served by this version: use HTTP or HTTPS',
    ])
  })

  t.test('up to a dozen of them', async t => {
    const parentRefs = Array.from({ length: 20 }, (_, i) => ({ name: `g-${i}` }))
    const warnings = await warningsFor(aRoute({ parentRefs }), [])
    t.equal(warnings.length, 13)
    t.equal(warnings.at(-1), 'and 8 more')
  })

  t.test('that other objects are not known yet is said, once', async t => {
    const options = { snapshot: nothing, complete: false }
    const { verdict, hint } = await decideAdmission(
      aRequest(aRoute({ parentRefs: [{ name: 'g' }] })),
      options,
    )
    t.strictSame(verdict.warnings, [
      'other objects were not looked at: the first full list of them is not in yet',
    ])
    t.ok(hint)
    t.strictSame((await decideAdmission(aRequest(aService('a')), options)).verdict, { allowed: true })
    const bad = await decideAdmission(aRequest(aRoute({ rules: 7 })), options)
    t.equal(bad.verdict.allowed, false, 'what is wrong by itself is wrong all the same')
  })
  t.end()
})

t.test('listeners of a Gateway that cannot be served', async t => {
  const gateway = (spec: object, ...listeners: readonly object[]) =>
    anObject('Gateway', 'g', { gatewayClassName: 'c', listeners, ...spec })
  const [http, https] = [
    { name: 'a', port: 80, protocol: 'HTTP' },
    { name: 'b', port: 80, protocol: 'HTTPS', tls: { certificateRefs: [{ name: 's', namespace: 'vault' }] } },
  ]
  t.strictSame(await warningsFor(gateway({}, http, https), [aClass('c')]), [
    'spec.listeners[0].port: port 80 is HTTP here and HTTPS in listener "b": neither is served',
    'spec.listeners[1].port: port 80 is HTTPS here and HTTP in listener "a": neither is served',
    'spec.listeners[1].tls.certificateRefs[0]: no ReferenceGrant in namespace vault allows it',
  ])
  const tls = {
    frontend: {
      default: { validation: { caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'ca' }] } },
    },
  }
  t.match(
    await warningsFor(gateway({ tls }, { ...https, tls: { certificateRefs: [{ name: 's' }] } }), [
      aClass('c'),
    ]),
    [/^spec.listeners\[0\]: not served: spec.tls.frontend asks for certificates of clients/],
  )
  const store = createStore()
  store.apply([{ type: 'upsert', object: aClass('c') }])
  const admission = createAdmission({
    store,
    whyNotBound: port => (port < 1024 ? 'needs privileges' : undefined),
  })
  const { verdict } = await admission.decide(aRequest(gateway({}, http, { ...http, name: 'c', port: 8080 })))
  t.strictSame(verdict.warnings, ['spec.listeners[0].port: port 80 needs privileges'])
  admission.stop()
})

t.test('a rule that no request can reach', t => {
  const rule = (...matches: readonly object[]) => ({ matches })
  const at = (value: string, type = 'PathPrefix', rest: object = {}) => ({ path: { type, value }, ...rest })
  const route = (name: string, spec: object, created?: string, namespace = 'shop'): KubeObject => {
    const object = anObject(
      'HTTPRoute',
      name,
      { parentRefs: [{ name: 'public', namespace: 'shop' }], ...spec },
      namespace,
    )
    return {
      ...object,
      metadata: { ...object.metadata, ...(created !== undefined && { creationTimestamp: created }) },
    }
  }
  const listener = { port: 80, protocol: 'HTTP', allowedRoutes: { namespaces: { from: 'All' } } }
  const world = (...listeners: readonly object[]) => [
    aClass('gatewright'),
    anObject('Gateway', 'public', { gatewayClassName: 'gatewright', listeners }),
  ]
  const one = world({ ...listener, name: 'http' })

  t.test('of its own route is named, with what goes first', async t => {
    const within = async (...rules: readonly object[]) => warningsFor(route('r', { rules }), one)
    const header = (name: string, value = '1') => ({ name, value })
    t.strictSame(await within(rule(at('/a'), at('/b')), rule(at('/b/')), rule(at('/b', 'Exact'))), [
      'spec.rules[1]: never used: spec.rules[0].matches[1] matches the same and goes first',
    ])
    t.strictSame(await within({}, rule({ method: 'GET' }), rule(at('/'))), [
      'spec.rules[2]: never used: spec.rules[0] matches the same and goes first',
    ])
    const two = { headers: [header('A'), header('b')] }
    const swapped = { headers: [header('B'), header('a'), header('A', '2')] }
    t.match(await within(rule(two), rule(swapped)), [/^spec.rules\[1\]: never used/])
    t.strictSame(await within(rule({ headers: [header('a')] }), rule({ headers: [header('a', '2')] })), [])
    const broken = at('(', 'RegularExpression')
    t.strictSame(
      await within(rule(broken, at('/a')), rule(at('/a'))),
      [],
      'a rule that cannot be served shadows nothing',
    )
    t.equal((await within(...Array.from({ length: 12 }, () => rule(at('/a'))))).length, 4)
  })

  t.test('for another route of the same listener and host is named, where that goes first', async t => {
    const spec = { hostnames: ['a.com'], rules: [rule(at('/x')), rule(at('/a'))] }
    const [early, late] = ['2025-01-01T00:00:00Z', '2025-01-02T00:00:00Z']
    const mine = route('mine', { hostnames: ['a.com', 'b.com'], rules: [rule(at('/a'))] }, late)
    const told = [
      'spec.rules[0]: never used on listener "http" for a.com: the same match of HTTPRoute shop/z (spec.rules[1]) goes first',
    ]
    t.strictSame(await warningsFor(mine, [...one, route('z', spec, early)]), told)
    t.strictSame(await warningsFor(mine, [...one, route('z', spec, late)]), [], 'ties go by name')
    t.strictSame(await warningsFor(mine, [...one, route('z', spec, early), route('y', spec, late)]), told)
    t.strictSame(await warningsFor(mine, [...one, route('z', { ...spec, hostnames: ['c.com'] }, early)]), [])
    t.strictSame(
      await warningsFor(mine, [
        ...one,
        mine,
        route('z', { ...spec, parentRefs: [{ name: 'other' }] }, early),
      ]),
      [],
    )
    t.strictSame(
      await warningsFor(mine, [...one, route('z', spec, early, 'bank')]),
      [
        'spec.rules[0]: never used on listener "http" for a.com: the same match of a route in another namespace goes first',
      ],
      'of another namespace no name is told',
    )
    const closed = world({ ...listener, name: 'http', allowedRoutes: { namespaces: { from: 'Same' } } })
    t.strictSame(
      await warningsFor(mine, [
        ...closed,
        route('z', { ...spec, parentRefs: [{ name: 'public', namespace: 'shop' }] }, early, 'bank'),
      ]),
      [],
    )
    const wide = world({ ...listener, name: 'http', hostname: 'a.com' })
    t.match(
      await warningsFor(route('mine', { rules: [rule(at('/a'))] }, late), [
        ...wide,
        route('z', { ...spec, hostnames: ['*.com', 'a.com'] }, early),
      ]),
      [/^spec.rules\[0\]: never used on listener "http" for a.com/],
      'what counts is the host that is served, however it is written',
    )
  })

  /** The router of the specification, written down once more: who takes a request that comes by a listener. */
  interface Asked {
    readonly host: string
    readonly path: string
    readonly method: string
    readonly h: string
  }
  interface Candidate {
    readonly route: number
    readonly place: string
    readonly level: string
    readonly rank: readonly (string | number)[]
  }
  const hostFits = (pattern: string, host: string) =>
    pattern === '*' || pattern === host || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)))
  const narrower = (a: string, b: string) => (hostFits(a, b) ? b : hostFits(b, a) ? a : undefined)
  const pathFits = (type: string, value: string, path: string) => {
    const bare = value === '/' ? '' : value.replace(/\/$/, '')
    return type === 'Exact' ? path === value : path === bare || path.startsWith(`${bare}/`)
  }
  const fits = (match: HTTPRouteMatch, { path, method, h }: Asked) =>
    pathFits(match.path?.type ?? 'PathPrefix', match.path?.value ?? '/', path) &&
    (match.method ?? method) === method &&
    (match.headers ?? []).every(({ value }) => value === h)
  const smaller = (a: readonly (string | number)[], b: readonly (string | number)[]) => {
    const at = a.findIndex((key, i) => key !== b[i])
    return at >= 0 && (a[at] as string) < (b[at] as string)
  }
  interface Drawn {
    readonly created: string
    readonly hostnames: readonly string[]
    readonly sectionName?: string | undefined
    readonly rules: readonly (readonly HTTPRouteMatch[])[]
  }

  function winner(
    routes: readonly Drawn[],
    section: { name: string; hostname: string },
    asked: Asked,
  ): Candidate | undefined {
    const candidates = routes.flatMap(({ created, hostnames, sectionName = section.name, rules }, number) => {
      if (sectionName !== section.name) return []
      const levels = (hostnames.length === 0 ? ['*'] : hostnames).map(hostname =>
        narrower(section.hostname, hostname),
      )
      return levels
        .filter(level => level !== undefined && hostFits(level, asked.host))
        .flatMap(level =>
          rules.flatMap((matches, rule) =>
            matches.flatMap((match, position) => {
              if (!fits(match, asked)) return []
              const exact = match.path?.type === 'Exact'
              const length = (match.path?.value ?? '/').replace(/(.)\/$/, '$1').length
              const rank = [
                level === asked.host ? 0 : 1,
                -(level as string).length,
                exact ? 0 : 1,
                exact ? 0 : -length,
                match.method === undefined ? 1 : 0,
                -(match.headers ?? []).length,
                created,
                `r${number}`,
                rule,
                position,
              ]
              const place =
                matches.length === 1 ? `spec.rules[${rule}]` : `spec.rules[${rule}].matches[${position}]`
              return [{ route: number, place, level: level as string, rank }]
            }),
          ),
        )
    })
    return candidates.reduce<Candidate | undefined>(
      (best, each) => (best && smaller(best.rank, each.rank) ? best : each),
      undefined,
    )
  }

  t.test('is one that the specification gives no request to, for any routes', async t => {
    const match = fc.record(
      {
        path: fc.record({
          type: fc.constantFrom('Exact', 'PathPrefix'),
          value: fc.constantFrom('/', '/a', '/a/b'),
        }),
        method: fc.constant('GET'),
        headers: fc.constantFrom([{ name: 'h', value: '1' }], [{ name: 'H', value: '1' }]),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<HTTPRouteMatch>
    const drawn: fc.Arbitrary<Drawn> = fc.record({
      created: fc.constantFrom('2025-01-01T00:00:00Z', '2025-01-02T00:00:00Z'),
      hostnames: fc.uniqueArray(fc.constantFrom('x.a.com', '*.a.com', '*.com'), { maxLength: 2 }),
      sectionName: fc.constantFrom(undefined, 'one', 'two'),
      rules: fc.array(fc.array(match, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 3 }),
    })
    const sections = fc.tuple(fc.constantFrom('*', 'x.a.com', '*.a.com'), fc.constantFrom('*', '*.com'))
    const all: Asked[] = ['x.a.com', 'y.a.com', 'b.com', 'c.org'].flatMap(host =>
      ['/', '/a', '/a/b', '/ab'].flatMap(path =>
        ['GET', 'POST'].flatMap(method => ['', '1'].map(h => ({ host, path, method, h }))),
      ),
    )
    let claims = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(drawn, { minLength: 1, maxLength: 3 }),
        sections,
        async (routes, [one, two]) => {
          const named = [
            { name: 'one', hostname: one, port: 80 },
            { name: 'two', hostname: two, port: 81 },
          ]
          const listeners = named.map(({ hostname, ...rest }) => ({
            ...listener,
            ...rest,
            ...(hostname !== '*' && { hostname }),
          }))
          const objects = routes.map(({ created, hostnames, sectionName, rules }, i) => {
            const parentRefs = [{ name: 'public', ...(sectionName !== undefined && { sectionName }) }]
            return route(
              `r${i}`,
              { parentRefs, hostnames, rules: rules.map(matches => ({ matches })) },
              created,
            )
          })
          const asker = routes.length - 1
          const warnings = await warningsFor(objects[asker] as KubeObject, [
            ...world(...listeners),
            ...objects,
          ])
          for (const warning of warnings) {
            const claim = /^(\S+): never used(?: on listener "(\w+)"(?: for ([^:]+))?)?: /.exec(warning)
            if (!claim) continue
            claims++
            const [, place, on, host = '*'] = claim
            const takes = named.flatMap(section =>
              all.map(asked => ({ section: section.name, ...winner(routes, section, asked) })),
            )
            const refuted = takes.find(
              ({ route: by, place: where, section, level }) =>
                by === asker && where === place && (on === undefined || (section === on && level === host)),
            )
            if (refuted) throw new Error(`${warning}, but it is: ${JSON.stringify(refuted)}`)
          }
        },
      ),
      { numRuns: 300 },
    )
    t.ok(claims > 50, `${claims} claims were put to the test`)
  })
  t.end()
})

t.test('certificates', t => {
  const pair = (...names: readonly string[]) => selfSigned(...names)
  const secret = (name: string, { chain, key }: { chain: string; key: string }, namespace = 'shop') => ({
    ...anObject('Secret', name, {}, namespace, 'v1'),
    type: 'kubernetes.io/tls',
    data: {
      'tls.crt': Buffer.from(chain).toString('base64'),
      'tls.key': Buffer.from(key).toString('base64'),
    },
  })
  const gateway = (hostname: string | undefined, ...refs: readonly object[]) =>
    anObject('Gateway', 'g', {
      gatewayClassName: 'c',
      listeners: [
        {
          name: 'a',
          port: 443,
          protocol: 'HTTPS',
          ...(hostname !== undefined && { hostname }),
          tls: { certificateRefs: refs },
        },
      ],
    })
  const reader = (...secrets: readonly KubeObject[]) => {
    const held = new Map(secrets.map(each => [locatorOf(each), each]))
    const asked: Locator[] = []
    return { asked, read: (key: Locator) => (asked.push(key), Promise.resolve(held.get(key))) }
  }
  const clock = manualClock(Date.parse('2025-06-01T00:00:00Z'))
  const ours = aClass('c')
  const told = (
    object: KubeObject,
    read: AdmissionOptions['read'],
    others: readonly KubeObject[] = [],
    now = clock,
  ) => warningsFor(object, [ours, ...others], { clock: now, ...(read && { read }) })
  const [good, other] = [pair('shop.example.com'), pair('other.example.com')]

  t.test('are read live and judged, and none of it denies', async t => {
    const ref = { name: 's' }
    const path = 'spec.listeners[0].tls.certificateRefs[0]'
    const nothingThere = [`${path}: there is no certificate with its key in Secret shop/s yet`]
    const judged = (...secrets: readonly KubeObject[]) =>
      told(gateway('shop.example.com', ref), reader(...secrets).read)
    t.strictSame(await judged(secret('s', good)), [])
    t.strictSame(await judged(), nothingThere)
    const opaque = { ...anObject('Secret', 's', {}, 'shop', 'v1'), data: { password: 'aHVudGVyMg==' } }
    t.strictSame(
      await judged(opaque),
      nothingThere,
      'whether a Secret of another purpose is there is not told',
    )
    t.strictSame(await judged(secret('s', { chain: 'no PEM', key: good.key })), nothingThere)
    t.strictSame(await judged(secret('s', { chain: good.chain, key: other.key })), [
      `${path}: Secret shop/s has no tls.key that belongs to its certificate`,
    ])
    t.strictSame(await judged(secret('s', other)), [
      'spec.listeners[0].hostname: no certificate of listener "a" is for shop.example.com',
    ])
    const read = reader(secret('s', good)).read
    t.match(await told(gateway('shop.example.com', ref), read, [], manualClock(Date.parse('2100-01-01'))), [
      /expired on 2099-01-01$/,
    ])
    t.match(await told(gateway('shop.example.com', ref), read, [], manualClock(Date.parse('2019-01-01'))), [
      /is not valid before 2020-01-01$/,
    ])
  })

  t.test('of one listener may share its names, a wildcard among them', async t => {
    const read = reader(secret('s', good), secret('o', other), secret('w', pair('*.example.com'))).read
    const fits = async (hostname: string | undefined, ...names: readonly string[]) =>
      t.strictSame(
        await told(gateway(hostname, ...names.map(name => ({ name }))), read),
        [],
        `${hostname} by ${names.join()}`,
      )
    await fits('shop.example.com', 'o', 's')
    await fits('shop.example.com', 'w')
    await fits('*.example.com', 'w')
    await fits('*.example.com', 's')
    await fits(undefined, 'o')
    await fits('shop.example.com', 's', 'w')
    t.match(await told(gateway('*.other.com', { name: 'w' }), read), [/is for \*\.other\.com/])
  })

  t.test('are never read behind a closed door, of another controller, or without need', async t => {
    const far = secret('far', good, 'vault')
    const { asked, read } = reader(far, secret('s', good))
    const object = gateway(undefined, { name: 'far', namespace: 'vault' })
    t.match(await told(object, read), [/no ReferenceGrant in namespace vault/])
    const from = [{ group, kind: 'Gateway', namespace: 'shop' }]
    t.strictSame(asked, [])
    t.strictSame(
      await told(object, read, [
        anObject('ReferenceGrant', 'g', { from, to: [{ group: '', kind: 'Secret' }] }, 'vault'),
      ]),
      [],
    )
    t.strictSame(asked, ['secret:vault/far'])
    await warningsFor(gateway(undefined, { name: 's' }), [aClass('c', 'example.com/other')], { read })
    const refused = await decideAdmission(aRequest(anObject('Gateway', 'g', { listeners: [] })), {
      snapshot: nothing,
      read,
    })
    t.equal(refused.verdict.allowed, false)
    await warningsFor(aRoute({}), [], { read })
    t.equal(asked.length, 1)
    const many = reader()
    await told(gateway(undefined, ...Array.from({ length: 12 }, (_, i) => ({ name: `s${i}` }))), many.read)
    t.equal(many.asked.length, 8, 'and eight of them at most')
  })

  t.test('that cannot be read in time are passed over', async t => {
    const object = gateway('shop.example.com', { name: 's' })
    t.strictSame(await told(object, () => Promise.reject(new Error('403'))), [])
    t.strictSame(
      await told(object, () => {
        throw new Error('a bug')
      }),
      [],
    )
    for (const [timeoutMs, wait] of [
      [10_000, 1_000],
      [1_000, 500],
    ] as const) {
      const slow = manualClock()
      let signal: AbortSignal | undefined
      const read = (_: Locator, given: AbortSignal) => (
        (signal = given),
        new Promise<undefined>(() => undefined)
      )
      const options = { snapshot: snapshotOf(ours), read, clock: slow, timeoutMs }
      const deciding = decideAdmission(aRequest(object), options)
      slow.advance(wait - 1)
      t.equal(signal?.aborted, false)
      slow.advance(1)
      t.equal(signal?.aborted, true)
      t.strictSame((await deciding).verdict, { allowed: true })
    }
  })
  t.end()
})

t.test('a denial that rests on another object', t => {
  /** As an API's path must be its own: nobody else may have the same `twin` label. */
  const unique: CrossCheck = {
    name: 'unique',
    kinds: ['service'],
    find(object, around) {
      const key = `service:shop/${object.metadata.labels?.['twin'] ?? ''}`
      return around.get(key)?.metadata.labels?.['twin'] === object.metadata.name
        ? [{ path: 'metadata.labels', message: `Duplicate value: ${key} has it`, denies: key }]
        : []
    },
  }
  const service = (name: string, twin: string): KubeObject => {
    const object = aService(name)
    return { ...object, metadata: { ...object.metadata, labels: { twin } } }
  }
  const [mine, rival] = [service('mine', 'rival'), service('rival', 'mine')]
  const decide = (read: AdmissionOptions['read'], held = rival) =>
    decideAdmission(aRequest(mine), {
      snapshot: snapshotOf(held),
      checks: [unique],
      clock: manualClock(),
      ...(read && { read }),
    })
  const warning = ['metadata.labels: Duplicate value: service:shop/rival has it']

  t.test('is one when a live read shows the same, and leaves no hint', async t => {
    const { verdict, hint } = await decide(() => Promise.resolve(rival))
    t.match(verdict, {
      allowed: false,
      status: {
        code: 422,
        details: { causes: [{ reason: 'FieldValueDuplicate', field: 'metadata.labels' }] },
      },
    })
    t.equal(hint, undefined)
  })

  t.test('is none when what was held is old', async t => {
    for (const now of [undefined, service('rival', 'somebody')]) {
      const { verdict, hint } = await decide(() => Promise.resolve(now))
      t.strictSame(verdict, { allowed: true })
      t.ok(hint)
    }
    t.strictSame((await decide(() => Promise.resolve(rival), service('rival', 'x'))).verdict, {
      allowed: true,
    })
  })

  t.test('is a warning when nobody can confirm it', async t => {
    t.strictSame((await decide(undefined)).verdict, { allowed: true, warnings: warning })
    const failed = await decide(() => Promise.reject(new Error('503')))
    t.strictSame(failed.verdict, { allowed: true, warnings: warning })
    t.ok(failed.hint)
  })
  t.end()
})

t.test('beside a store', t => {
  const gateways = ['g0', 'g1'].map(name => ({ ...aGateway, metadata: { ...aGateway.metadata, name } }))
  const routeOn = (name: string, parent: string, hostname: string, created: string): KubeObject => ({
    ...aRoute({ parentRefs: [{ name: parent }], hostnames: [hostname], rules: [{}] }, name),
    metadata: { name, namespace: 'shop', creationTimestamp: created },
  })
  const day = (n: number) => `2025-01-0${n + 1}T00:00:00Z`

  t.test("a decision is what it would be from the store's snapshot, after any edits", async t => {
    const edit = fc.record({
      name: fc.nat(3),
      parent: fc.nat(1),
      host: fc.nat(1),
      age: fc.nat(2),
      gone: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { maxLength: 12 }), fc.boolean(), async (edits, early) => {
        const store = createStore({ freeze: true })
        const follow = () => createAdmission({ store })
        let admission = early ? follow() : undefined
        store.apply(gateways.map(object => ({ type: 'upsert', object })))
        for (const { name, parent, host, age, gone } of edits) {
          const object = routeOn(`r${name}`, `g${parent}`, `h${host}.com`, day(age))
          store.apply([gone ? { type: 'delete', locator: locatorOf(object) } : { type: 'upsert', object }])
        }
        admission ??= follow()
        await nextTurn()
        for (const host of ['h0.com', 'h1.com']) {
          const asked = aRequest(routeOn('new', 'g0', host, day(1)))
          t.strictSame(
            await admission.decide(asked),
            await decideAdmission(asked, { snapshot: store.snapshot() }),
          )
        }
        admission.stop()
      }),
      { numRuns: 60 },
    )
  })

  t.test('looks at as many objects among a thousand routes as among ten', async t => {
    const looks = async (n: number) => {
      const store = createStore()
      const routes = Array.from({ length: n }, (_, i) => routeOn(`r${i}`, 'g0', `h${i}.com`, day(1)))
      store.apply([...gateways, ...routes].map(object => ({ type: 'upsert', object })))
      let count = 0
      const snapshot = () => {
        const held = store.snapshot()
        return {
          ...held,
          get: (key: Locator) => (count++, held.get(key)),
          list: () => {
            throw new Error('a whole kind')
          },
        }
      }
      const admission = createAdmission({ store: { ...store, snapshot } })
      for (let turn = 0; turn < 100; turn++) await nextTurn()
      const { verdict } = await admission.decide(aRequest(routeOn('new', 'g0', 'h7.com', day(2))))
      t.match(verdict.warnings, [
        /never used on listener "http" for h7.com: the same match of HTTPRoute shop\/r7/,
      ])
      admission.stop()
      return count
    }
    t.equal(await looks(1_000), await looks(10))
  })
  t.end()
})

t.test('for any object', t => {
  const good: readonly KubeObject[] = [
    aRoute({
      parentRefs: [{ name: 'g' }],
      hostnames: ['a.com'],
      rules: [
        {
          matches: [{ path: { type: 'Exact', value: '/a' }, headers: [{ name: 'h', value: '1' }] }],
          backendRefs: [{ name: 's', port: 80 }],
        },
      ],
    }),
    { ...aRoute({ rules: [{ backendRefs: [{ name: 's', port: 80 }] }] }), apiVersion: `${group}/v1beta1` },
    aGateway,
    aService('s'),
    anObject('GRPCRoute', 'r', { rules: [{ matches: [{ method: { service: 'a.B', method: 'C' } }] }] }),
    anObject(
      'ReferenceGrant',
      'g',
      { from: [{ group, kind: 'HTTPRoute', namespace: 'a' }], to: [{ group: '', kind: 'Service' }] },
      'shop',
      `${group}/v1beta1`,
    ),
    anObject('Backend', 'b', { endpoints: [{ host: 'a.com', port: 80 }] }, 'shop', 'gatewright.io/v1alpha1'),
  ]
  const odd = fc.oneof(
    fc.constantFrom(null, '', 0, -1, 70_000, 'x', '*', [], {}, true),
    fc.anything({ maxDepth: 2 }),
  )
  const mutated = fc
    .tuple(fc.constantFrom(...good), fc.array(fc.nat(40), { maxLength: 3 }), odd)
    .map(
      ([object, at, value]) =>
        at.reduce<unknown>(
          (now, position) => changedAt(now, position, value),
          structuredClone(object),
        ) as KubeObject,
    )

  /** The object with the field of this number, counted in depth, replaced. */
  function changedAt(object: unknown, position: number, value: unknown): unknown {
    let left = position
    const walk = (node: unknown): unknown => {
      if (typeof node !== 'object' || node === null) return node
      const entries = Object.entries(node).map(
        ([key, held]) => [key, left-- === 0 ? value : walk(held)] as const,
      )
      return Array.isArray(node) ? entries.map(([, held]) => held) : Object.fromEntries(entries)
    }
    return walk(object)
  }

  t.test('the verdict is that of validate, in the schema of its version, and nothing is changed', async t => {
    const store = createStore({ freeze: true })
    store.apply([aGateway, aService('cart')].map(object => ({ type: 'upsert', object })))
    const admission = createAdmission({ store })
    const before = store.snapshot()
    let denials = 0
    await fc.assert(
      fc.asyncProperty(mutated, fc.boolean(), async (object, dryRun) => {
        const original = good.find(each => each.kind === object.kind)
        if (!original) return
        const request = { ...aRequest(original), object, dryRun }
        const { verdict, hint } = await admission.decide(request)
        const { object: valid, problems } = validate(object, { defaultNamespace: 'default' })
        const errors = problems.filter(({ severity, rule }) => severity === 'error' && rule !== 'unknown')
        t.equal(verdict.allowed, valid !== undefined && errors.length === 0)
        const fields = verdict.status?.details.causes.map(({ field }) => field)
        t.strictSame(fields, verdict.allowed ? undefined : errors.map(({ path }) => path))
        t.equal(hint !== undefined, verdict.allowed && !dryRun)
        if (!verdict.allowed) denials++
        t.equal(store.snapshot(), before)
      }),
      { numRuns: 400 },
    )
    t.ok(denials > 100, `${denials} of them were denied`)
    admission.stop()
  })

  t.test('of any shape there is an answer', async t => {
    const kind = fc.constantFrom(...good.map(object => aRequest(object).kind))
    const operation = fc.constantFrom('CREATE', 'UPDATE', 'DELETE', 'CONNECT')
    const anything = fc.oneof(fc.anything(), mutated)
    await fc.assert(
      fc.asyncProperty(kind, operation, anything, anything, async (of, asked, object, oldObject) => {
        const request = { uid: 'u', kind: of, operation: asked, object, oldObject } as AdmissionRequest
        const { verdict } = await decideAdmission(request, { snapshot: nothing })
        t.type(verdict.allowed, 'boolean')
      }),
      { numRuns: 300 },
    )
  })
  t.end()
})

t.test('how long an API server waits is read from its address', t => {
  t.strictSame(['10s', '5s', '', '1h', '-1s', undefined].map(timeoutOf), [
    10_000,
    5_000,
    ...Array<undefined>(4).fill(undefined),
  ])
  t.end()
})

t.test('each check has a name of its own', t => {
  t.equal(new Set(crossChecks.map(({ name }) => name)).size, crossChecks.length)
  t.end()
})
