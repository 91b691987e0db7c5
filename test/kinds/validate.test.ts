import fc from 'fast-check'
import t from 'tap'
import { problemText, type KubeObject } from '../../src/core/index.js'
import {
  compiledKinds,
  defaulted,
  ids,
  kindById,
  kindOf,
  kinds,
  pathOf,
  pathSegments,
  validate,
  whyNotRegex,
  type Schema,
} from '../../src/kinds/index.js'
import { patternOf } from '../../src/kinds/pattern.js'

const compiledOnImport = compiledKinds()

const object = (apiVersion: string, kind: string, rest: object = {}, metadata: object = {}) => ({
  apiVersion,
  kind,
  metadata: { name: 'it', namespace: 'shop', ...metadata },
  ...rest,
})
const route = (spec: unknown, metadata: object = {}) =>
  object('gateway.networking.k8s.io/v1', 'HTTPRoute', { spec }, metadata)
const gateway = (spec: object) =>
  object('gateway.networking.k8s.io/v1', 'Gateway', {
    spec: { gatewayClassName: 'c', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }], ...spec },
  })
const service = (spec: object) => object('v1', 'Service', { spec })
const slice = (rest: object) =>
  object('discovery.k8s.io/v1', 'EndpointSlice', { addressType: 'IPv4', ...rest })
const backend = (spec: unknown) => object('gatewright.io/v1alpha1', 'Backend', { spec })

/** `path: message` of every problem. */
const told = (value: unknown, oldObject?: object) =>
  validate(value, { oldObject: oldObject as KubeObject }).problems.map(
    ({ path, message }) => `${path}: ${message}`,
  )
const good = (value: unknown) => validate(value).object as KubeObject & { readonly spec: unknown }

t.test('a kind is compiled when its first object comes, and no other', t => {
  t.same(compiledOnImport, [], 'importing the door compiles nothing')
  validate(object('gateway.networking.k8s.io/v1', 'ReferenceGrant', { spec: { from: [], to: [] } }))
  t.same(compiledKinds(), [ids.ReferenceGrant])
  validate(object('gateway.networking.k8s.io/v1beta1', 'ReferenceGrant', { spec: { from: [], to: [] } }))
  t.same(compiledKinds(), [ids.ReferenceGrant], 'another version with the same schema shares it')
  defaulted(route({}))
  t.same(compiledKinds(), [ids.ReferenceGrant], 'defaulting compiles nothing')
  t.end()
})

t.test('the table', t => {
  t.same(
    kinds.filter(({ served }) => served).map(({ kind }) => kind),
    'GatewayClass Gateway HTTPRoute ReferenceGrant Backend Namespace Service Secret ConfigMap EndpointSlice'.split(
      ' ',
    ),
    'kinds that this release acts on',
  )
  for (const [kind, id] of Object.entries(ids)) t.equal(kindById(id)?.kind, kind)
  t.equal(
    kindOf({ apiVersion: 'gateway.networking.k8s.io/v1beta1', kind: 'HTTPRoute' }),
    kindOf({ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute' }),
    'versions of a kind share a row',
  )
  t.equal(kindOf({ apiVersion: 'v1', kind: 'HTTPRoute' }), undefined)
  for (const row of kinds) {
    for (const version of row.versions)
      t.ok(row.schema(version).properties, `${row.kind} ${version} has a schema`)
  }
  t.throws(() => kindById(ids.Gateway)?.schema('v7'), 'no schema of Gateway v7')
  t.end()
})

t.test('what cannot be read as an object of a kind in the table', t => {
  const answer = (value: unknown) => {
    const { object, problems } = validate(value)
    return [object, ...problems.map(({ severity, path, message }) => `${severity} ${path}: ${message}`)]
  }
  t.same(answer(null), [undefined, 'error : Invalid value: must be an object'])
  t.same(answer([]), [undefined, 'error : Invalid value: must be an object'])
  t.same(answer({}), [undefined, 'error apiVersion: Required value', 'error kind: Required value'])
  t.same(answer(object('apps/v1', 'Deployment')), [
    undefined,
    'warning kind: no matches for kind "Deployment" in version "apps/v1"',
  ])
  t.same(answer(object('gateway.networking.k8s.io/v1alpha2', 'HTTPRoute')), [
    undefined,
    'error kind: no matches for kind "HTTPRoute" in version "gateway.networking.k8s.io/v1alpha2"',
  ])
  t.same(answer({ apiVersion: 'v1', kind: 'Namespace', metadata: 3 }), [
    undefined,
    'error metadata.name: Required value: name or generateName is required',
    'error metadata: Invalid value: "integer": metadata in body must be of type object: "integer"',
  ])
  t.end()
})

t.test('defaults', t => {
  const full = good(
    route({ parentRefs: [{ name: 'g', group: null }], rules: [{ name: null, backendRefs: null }] }),
  )
  t.same(full.spec, {
    parentRefs: [{ name: 'g', group: 'gateway.networking.k8s.io', kind: 'Gateway' }],
    rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }] }],
  })
  t.equal(defaulted(full), full, 'an object that needs none comes back itself')
  t.same(good(route({})).spec, { rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }] }] })
  t.same(
    good(service({ ports: [{ port: 80 }, { port: 81, targetPort: 'http', name: 'b', protocol: 'UDP' }] }))
      .spec,
    {
      type: 'ClusterIP',
      sessionAffinity: 'None',
      ports: [
        { port: 80, protocol: 'TCP', targetPort: 80 },
        { port: 81, targetPort: 'http', name: 'b', protocol: 'UDP' },
      ],
    },
    'a Service port aims at its own number over TCP',
  )
  t.same(good(slice({ ports: [{ port: 80 }] })), slice({ ports: [{ port: 80, name: '', protocol: 'TCP' }] }))
  t.same(
    good(object('v1', 'Secret', { data: { a: 'YQ==', b: 'YQ==' }, stringData: { b: 'é' } })),
    object('v1', 'Secret', { data: { a: 'YQ==', b: 'w6k=' }, type: 'Opaque' }),
    'stringData is written over data, in base64',
  )
  t.same(good(backend({ endpoints: [{ host: '::1', port: 1 }] })).spec, {
    endpoints: [{ host: '::1', port: 1, weight: 1 }],
    protocol: 'http',
  })
  const own = { ...route({}), status: { parents: null } }
  t.same((defaulted(own) as typeof own).status, { parents: null }, 'status is left alone')
  const foreign = object('apps/v1', 'Deployment')
  t.equal(defaulted(foreign), foreign)
  t.end()
})

t.test('namespaces', t => {
  const homeless = { ...route({}), metadata: { name: 'it' } }
  t.same(told(homeless), ['metadata.namespace: Required value'])
  const { object: placed, problems } = validate(homeless, { defaultNamespace: 'default' })
  t.equal(placed?.metadata.namespace, 'default')
  t.same(problems, [])
  const elsewhere = validate(route({}), { defaultNamespace: 'default' }).object
  t.equal(elsewhere?.metadata.namespace, 'shop', 'one that is named stays')
  const space = validate(object('v1', 'Namespace'), { defaultNamespace: 'default' })
  t.same([space.object?.metadata, space.problems], [{ name: 'it' }, []], 'a kind without one drops it')
  t.end()
})

t.test('defaulting changes no input and ends at the first try', t => {
  const value = fc.letrec(tie => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(null, 1, 'a', '/', true),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom(
          'parentRefs',
          'rules',
          'matches',
          'path',
          'filters',
          'backendRefs',
          'name',
          'type',
          'cors',
          'x',
        ),
        tie('tree'),
      ),
    ),
  })).tree
  const frozen = (tree: unknown): unknown => {
    if (typeof tree === 'object' && tree !== null) Object.values(Object.freeze(tree)).forEach(frozen)
    return tree
  }
  fc.assert(
    fc.property(value, spec => {
      const input = route(frozen(spec))
      const { object, problems } = validate(input)
      t.equal(object && defaulted(object), object)
      t.ok(problems.every(({ path }) => pathOf(pathSegments(path)) === path))
    }),
    { numRuns: 300 },
  )
  t.end()
})

t.test('paths', t => {
  const pairs: readonly (readonly [string, (string | number)[]])[] = [
    ['', []],
    ['spec.rules[0].matches[1].path.value', ['spec', 'rules', 0, 'matches', 1, 'path', 'value']],
    ['data[tls.crt]', ['data', 'tls.crt']],
    ['data[a]b].c', ['data', 'a]b', 'c']],
    ['spec.infrastructure.labels[example.com/a]', ['spec', 'infrastructure', 'labels', 'example.com/a']],
  ]
  for (const [path, segments] of pairs) {
    t.same(pathSegments(path), segments, path)
    t.equal(pathOf(segments), path)
  }
  const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9.\/_ -]*$/)
  fc.assert(
    fc.property(fc.array(fc.oneof(name, fc.nat())), segments =>
      t.same(pathSegments(pathOf(segments)), segments),
    ),
  )
  t.end()
})

t.test('schema errors are told in the words of the API server', t => {
  const filter = (type: string, body: object) => route({ rules: [{ filters: [{ type, ...body }] }] })
  const rows: readonly (readonly [unknown, ...string[]])[] = [
    [route({ parentRefs: [{}] }), 'spec.parentRefs[0].name: Required value'],
    [route({ parentRefs: [{ name: null }] }), 'spec.parentRefs[0].name: Required value'],
    [object('gateway.networking.k8s.io/v1', 'HTTPRoute'), 'spec: Required value'],
    [
      filter('Foo', {}),
      'spec.rules[0].filters[0].type: Unsupported value: "Foo": supported values: "RequestHeaderModifier", "ResponseHeaderModifier", "RequestMirror", "RequestRedirect", "URLRewrite", "ExtensionRef", "CORS", "ExternalAuth"',
    ],
    [
      filter('RequestRedirect', { requestRedirect: { statusCode: 399 } }),
      'spec.rules[0].filters[0].requestRedirect.statusCode: Unsupported value: 399: supported values: "301", "302", "303", "307", "308"',
    ],
    [
      route({ hostnames: 'a' }),
      'spec.hostnames: Invalid value: "string": spec.hostnames in body must be of type array: "string"',
    ],
    [
      route({ hostnames: [null] }),
      'spec.hostnames[0]: Invalid value: "null": spec.hostnames[0] in body must be of type string: "null"',
    ],
    [route('a'), 'spec: Invalid value: "string": spec in body must be of type object: "string"'],
    [
      route({ rules: [{ name: 3 }] }),
      'spec.rules[0].name: Invalid value: "integer": spec.rules[0].name in body must be of type string: "integer"',
    ],
    [
      route({ parentRefs: [{ name: 'g', port: 1.5 }] }),
      'spec.parentRefs[0].port: Invalid value: "float64": spec.parentRefs[0].port in body must be of type int32: "float64"',
    ],
    [
      route({
        parentRefs: [
          { name: 'g', port: 0 },
          { name: 'h', port: 65536 },
        ],
      }),
      'spec.parentRefs[0].port: Invalid value: 0: spec.parentRefs[0].port in body should be greater than or equal to 1',
      'spec.parentRefs[1].port: Invalid value: 65536: spec.parentRefs[1].port in body should be less than or equal to 65535',
    ],
    [
      route({ hostnames: ['', 'A', 'a'.repeat(254)] }),
      'spec.hostnames[0]: Invalid value: "": spec.hostnames[0] in body should be at least 1 chars long',
      `spec.hostnames[1]: Invalid value: "A": spec.hostnames[1] in body should match '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'`,
      'spec.hostnames[2]: Too long: may not be more than 253 bytes',
    ],
    [route({ rules: Array(17).fill({}) }), 'spec.rules: Too many: 17: must have at most 16 items'],
    [
      gateway({ listeners: [] }),
      'spec.listeners: Invalid value: 0: spec.listeners in body should have at least 1 items',
    ],
    [
      gateway({ infrastructure: { labels: { a: 'b c' } } }),
      `spec.infrastructure.labels.a: Invalid value: "b c": spec.infrastructure.labels.a in body should match '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$'`,
    ],
    [
      gateway({
        infrastructure: { labels: Object.fromEntries('abcdefghi'.split('').map(key => [key, ''])) },
      }),
      'spec.infrastructure.labels: Too many: 9: must have at most 8 items',
    ],
    [
      gateway({ addresses: [{ value: '10.0.0' }] }),
      'spec.addresses[0].value: Invalid value: "10.0.0": spec.addresses[0].value in body must be of type ipv4: "10.0.0"',
      'spec.addresses[0].value: Invalid value: "": "spec.addresses[0].value" must validate at least one schema (anyOf)',
      'spec.addresses[0]: Invalid value: "": "spec.addresses[0]" must validate one and only one schema (oneOf). Found none valid',
    ],
    [
      route({
        rules: [
          {
            matches: [
              {
                headers: [
                  { name: 'a', value: 'b' },
                  { name: 'a', value: 'c' },
                ],
              },
            ],
          },
        ],
      }),
      'spec.rules[0].matches[0].headers[1]: Duplicate value: {"name":"a"}',
    ],
    [
      filter('RequestHeaderModifier', { requestHeaderModifier: { remove: ['a', 'b', 'a'] } }),
      'spec.rules[0].filters[0].requestHeaderModifier.remove[2]: Duplicate value: "a"',
    ],
  ]
  for (const [value, ...expected] of rows) t.same(told(value), expected, expected.join(' '))
  t.end()
})

t.test('unknown fields are reported wherever they are, with everything else', t => {
  const value = {
    ...route(
      { foo: 1, parentRefs: [{}], rules: [{ matches: [{ path: { valu: '/' } }], 'a.b': 2 }] },
      { lables: {} },
    ),
    bar: 1,
    status: { parents: [{ baz: 1 }] },
  }
  const unknown = validate(value).problems.filter(({ rule }) => rule === 'unknown')
  t.same(
    unknown.map(({ path }) => path),
    [
      'metadata.lables',
      'spec.foo',
      'spec.rules[0].matches[0].path.valu',
      'spec.rules[0][a.b]',
      'bar',
      'status.parents[0].baz',
    ],
  )
  t.equal(unknown[0]?.message, 'unknown field "metadata.lables"')
  t.ok(told(value).includes('spec.parentRefs[0].name: Required value'))
  t.same(
    told(
      service({
        ...{
          ports: [{ port: 80, appProtocol: 'kubernetes.io/h2c' }],
          selector: { a: 'b' },
          clusterIP: 'None',
        },
        ...{ sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } }, trafficDistribution: 'PreferClose' },
        ...{ ipFamilyPolicy: 'SingleStack', internalTrafficPolicy: 'Local', publishNotReadyAddresses: true },
      }),
    ),
    [],
    'no alarm at fields that Gatewright has no use for',
  )
  t.end()
})

t.test('what only a real API server told', t => {
  const listener = { name: 'http', port: 80, protocol: 'HTTP' }
  const listeners = (...of: readonly object[]) => told(gateway({ listeners: of }))
  t.match(
    told(route({ parentRefs: { name: 'x' } })),
    ['spec.parentRefs.name: unknown field "spec.parentRefs.name"', /^spec.parentRefs: .*of type array/],
    'where no object may be, every field of one is unknown',
  )
  t.same(
    listeners(listener, listener, listener).filter(text => text.includes('Duplicate')),
    ['spec.listeners[1]: Duplicate value: {"name":"http"}'],
    'what stands three times is told of once',
  )
  const nameless = { port: 80, protocol: 'HTTP' }
  t.ok(listeners(nameless, nameless).includes('spec.listeners[1]: Duplicate value: {}'))
  const fraction = { numerator: 2 ** 31 }
  const mirror = {
    type: 'RequestMirror',
    requestMirror: { backendRef: { name: 'shop', port: 80 }, fraction },
  }
  t.equal(told(route({ rules: [{ filters: [mirror] }] })).length, 2, 'a number too large keeps no rule back')
  t.match(
    told(gateway({ addresses: [{ value: {} }] })).join(),
    'spec.addresses[0]: Invalid value: "": "spec.addresses[0]" must validate one and only one',
    'what is no text has no format',
  )
  const twice = { spec: { gatewayClassName: 'c', listeners: [listener, listener] } }
  t.same(
    told(object('gateway.networking.k8s.io/v1', 'Gateway', twice, { name: undefined })),
    [
      'metadata.name: Required value: name or generateName is required',
      'spec.listeners[1]: Duplicate value: {"name":"http"}',
    ],
    'without a name no rule is looked at',
  )
  t.end()
})

t.test('rules wait until the structure is sound', t => {
  const rules = [{ matches: [{ path: { type: 'Exact', value: 'a' } }] }]
  const path =
    "spec.rules[0].matches[0].path: value must be an absolute path and start with '/' when type one of ['Exact', 'PathPrefix']"
  t.same(told(route({ parentRefs: [{}], rules })), ['spec.parentRefs[0].name: Required value'])
  t.ok(told(route({ hostnames: ['A'], rules })).includes(path), 'a bad pattern leaves the structure sound')
  t.end()
})

t.test('a rule whose evaluation fails counts as broken', t => {
  const tls = { mode: 'Terminate' }
  t.same(told(gateway({ listeners: [{ name: 'a', port: 443, protocol: 'HTTPS', tls }] })), [
    'spec.listeners[0].tls: certificateRefs or options must be specified when mode is Terminate',
  ])
  t.end()
})

t.test('an update', t => {
  const old = route({ hostnames: ['A'], rules: [{ matches: [{ path: { value: 'a' } }] }] })
  t.equal(told(old).length, 2)
  t.same(
    told({ ...old, metadata: { ...old.metadata, labels: { a: 'b' } } }, old),
    [],
    'what was wrong before may stay',
  )
  const changed = route({ hostnames: ['A', 'b'], rules: [{ matches: [{ path: { value: 'a' } }] }] })
  t.equal(told(changed, old).length, 1, 'a list without keys that changed is checked anew')
  const tls = { mode: 'Terminate' }
  const failing = gateway({ listeners: [{ name: 'a', port: 443, protocol: 'HTTPS', tls }] })
  t.equal(told(failing, failing).length, 1, 'a rule whose evaluation fails is told again')
  const listeners = [
    { name: 'a', port: 80, protocol: 'HTTP', hostname: 'A_b' },
    { name: 'b', port: 80, protocol: 'HTTP' },
  ]
  t.same(
    told(gateway({ listeners: [listeners[1], listeners[0]] }), gateway({ listeners })),
    [],
    'items with keys are followed through a new order',
  )
  const of = (controllerName: string) =>
    object('gateway.networking.k8s.io/v1', 'GatewayClass', { spec: { controllerName } })
  t.same(told(of('a.b/c'), of('a.b/d')), ['spec.controllerName: Value is immutable'])
  t.same(told(of('a.b/c'), of('a.b/c')), [])
  t.same(told(of('a.b/c')), [], 'a create has no old value')
  t.end()
})

t.test('metadata', t => {
  const messages = (metadata: object) =>
    told(route({}, metadata)).map(text => text.replace(/ must consist .*/, ' …'))
  t.same(messages({ name: 'A_b' }), ['metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain …'])
  t.match(messages({ name: 'a'.repeat(254) }), [/: must be no more than 253 characters$/])
  t.same(messages({ namespace: 'a.b' }), [
    'metadata.namespace: Invalid value: "a.b": a lowercase RFC 1123 label …',
  ])
  t.same(messages({ labels: { 'a b': 'c d', 'example.com/a': 'b', '/a': '' } }), [
    'metadata.labels: Invalid value: "a b": name part …',
    "metadata.labels: Invalid value: \"c d\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    'metadata.labels: Invalid value: "/a": prefix part must be non-empty',
  ])
  t.same(messages({ annotations: { 'Example.com/a': 'x', 'a b': 'x' } }), [
    'metadata.annotations: Invalid value: "a b": name part …',
  ])
  t.same(messages({ labels: { a: 1 } }), [
    'metadata.labels.a: Invalid value: "integer": metadata.labels.a in body must be of type string: "integer"',
  ])
  t.same(
    messages({
      creationTimestamp: null,
      generation: 3,
      ownerReferences: [{ uid: 'x' }],
      managedFields: [{}],
    }),
    [],
  )
  t.same(told(object('v1', 'Namespace', {}, { name: 'a.b' })), [
    'metadata.name: Invalid value: "a.b": must not contain dots',
  ])
  t.end()
})

t.test('Service, EndpointSlice, Secret and ConfigMap as the API server checks them', t => {
  t.same(told(service({ ports: [] })), ['spec.ports: Required value'])
  t.same(told(service({ type: 'ExternalName' })), ['spec.externalName: Required value'])
  t.same(told(service({ type: 'ExternalName', externalName: 'a.b' })), [])
  t.same(told(service({ clusterIP: 'None' })), [])
  t.same(told(service({ ports: [{ port: 80 }, { port: 81 }] })), [
    'spec.ports[0].name: Required value',
    'spec.ports[1].name: Required value',
  ])
  t.same(
    told(
      service({
        ports: [
          { port: 80, name: 'a' },
          { port: 80, name: 'a', targetPort: 'A_' },
        ],
      }),
    ),
    [
      'spec.ports[1].name: Duplicate value: "a"',
      'spec.ports[1]: Duplicate value: {"port":80,"protocol":"TCP"}',
      'spec.ports[1].targetPort: Invalid value: "A_": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ],
  )
  t.same(told(service({ ports: [{ port: 80, targetPort: 70000 }] })), [
    'spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
  ])
  t.match(told(service({ ports: [{ port: 80, appProtocol: 'x y' }] })), [/^spec.ports\[0\].appProtocol: /])
  t.same(
    told(
      slice({
        endpoints: [{ addresses: ['10.0.0.1'] }, { addresses: [] }, { addresses: ['::2', '127.0.0.1'] }],
      }),
    ),
    [
      'endpoints[1].addresses: Required value: must contain at least 1 address',
      'endpoints[2].addresses[0]: Invalid value: "::2": must be an IPv4 address',
      'endpoints[2].addresses[1]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
  )
  t.same(told(slice({ ports: [{ port: 1 }, { port: 2 }] })), ['ports[1].name: Duplicate value: ""'])
  t.same(told(object('v1', 'Secret', { type: 'kubernetes.io/tls', data: { 'tls.crt': '' } })), [
    'data[tls.key]: Required value',
  ])
  t.match(told(object('v1', 'ConfigMap', { data: { a: 'x', 'b c': '' }, binaryData: { a: '' } })), [
    'data.a: Invalid value: "a": duplicate of key present in binaryData',
    /^data\[b c\]: Invalid value: "b c": a valid config key must consist of/,
  ])
  t.end()
})

t.test('no message shows what a Secret holds', t => {
  const value = object('v1', 'Secret', {
    data: { a: 'hunter2!', b: 5551234 },
    stringData: { c: 5551234 },
    hunter2: 'hunter2!',
  })
  const { problems } = validate({ ...value, data: { a: 'hunter2!' } })
  t.match(problems.map(({ path }) => path).sort(), ['hunter2', 'stringData.c'])
  const all = [value, object('v1', 'Secret', { data: { a: 'hunter2!' } })].flatMap(
    secret => validate(secret).problems,
  )
  t.ok(all.some(({ path, message }) => path === 'data.a' && message === 'Invalid value: must be base64'))
  t.notMatch(all.map(problemText).join(), /hunter2!|5551234/)
  t.end()
})

t.test('Backend', t => {
  const endpoint = { host: 'a.example', port: 80 }
  for (const host of ['localhost', '127.0.0.1', '2001:db8::1', 'a_b.example.', 'EXAMPLE']) {
    t.same(told(backend({ endpoints: [{ ...endpoint, host }], protocol: 'h2c' })), [], host)
  }
  for (const host of ['http://a', 'a:80', '-a', 'a..b', '[::1]']) {
    t.same(
      told(backend({ endpoints: [{ ...endpoint, host }] })),
      ['spec.endpoints[0].host: must be a host name or an IP address, without a scheme or a port'],
      host,
    )
  }
  t.match(told(backend({ endpoints: [] })), [/^spec.endpoints: .*should have at least 1 items$/])
  t.match(told(backend({ endpoints: [{ ...endpoint, weight: -1 }] })), [
    /weight in body should be greater than/,
  ])
  t.match(told(backend({ endpoints: [endpoint], protocol: 'https' })), [
    /supported values: "http", "h2c", "ws"$/,
  ])
  t.same(told(backend({ endpoints: [endpoint, { ...endpoint, weight: 3 }] })), [
    'spec.endpoints[1]: Duplicate value: {"host":"a.example","port":80}',
  ])
  t.end()
})

t.test('a problem names the object and the place', t => {
  const locate = (path: string) => ({ file: 'a.yaml', line: path.length, column: 1 })
  const { problems } = validate(route({ hostnames: [''] }), { locate })
  t.same(problems.map(problemText), [
    'a.yaml:17:1 httproute.gateway.networking.k8s.io:shop/it spec.hostnames[0]: Invalid value: "": spec.hostnames[0] in body should be at least 1 chars long',
  ])
  t.end()
})

t.test('no text that a user can write makes a pattern slow', t => {
  const patterns = new Set<string>()
  const collect = (schema: Schema): void => {
    if (schema.pattern !== undefined) patterns.add(schema.pattern)
    for (const { rule } of schema['x-kubernetes-validations'] ?? []) {
      for (const [, raw, plain] of rule.matchAll(/matches\((?:r"""(.*?)"""|'(.*?)')\)/g)) {
        patterns.add(raw ?? plain!.replaceAll('\\\\', '\\'))
      }
    }
    Object.values(schema.properties ?? {}).forEach(collect)
    for (const below of [schema.items, schema.additionalProperties]) if (below) collect(below)
  }
  for (const row of kinds) for (const version of row.versions) collect(row.schema(version))
  t.ok(patterns.size >= 20, `${patterns.size} patterns`)
  const seeds = ['a', '-', 'a.', 'a-', '1', '1h', 'a b', '%2f', '/', '*.', 'http://a.', 'a/', '!']
  for (const pattern of patterns) {
    const tried = (length: number) => {
      const start = process.cpuUsage()
      for (const seed of seeds) patternOf(pattern).test(seed.repeat(length / seed.length) + '\u0001')
      return process.cpuUsage(start).user
    }
    // Twice the text takes four times as long where it is quadratic, which is borne; eight where it is cubic.
    const best = (length: number) => Math.min(tried(length), tried(length), tried(length))
    const user = tried(4096)
    t.ok(user < 300_000 || best(4096) < 6 * best(2048), `${pattern}: ${Math.round(user / 1000)} ms`)
  }
  t.same(told(route({ hostnames: ['a'.repeat(1_000_000) + '!'] })), [
    'spec.hostnames[0]: Too long: may not be more than 253 bytes',
  ])
  t.end()
})

t.test('regular expressions are judged as Envoy and the API server judge them', t => {
  t.equal(whyNotRegex('^/a/(?i)[a-z]+$'), undefined)
  for (const bad of ['(', '(?=a)', '(a)\\1', 'a{2000}']) t.type(whyNotRegex(bad), 'string', bad)
  t.end()
})
