import t from 'tap'
import { crossChecks, decideAdmission, reviewAdmission } from '../../src/sources/index.js'
import type { AdmissionRequest } from '../../src/sources/index.js'
import { createStore } from '../../src/store/index.js'
import type { KubeObject } from '../../src/core/index.js'

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
  t.test('is answered with its uid, and leaves a hint where the object may change', t => {
    const object = aService('cart')
    const body = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: aRequest(object) }
    t.strictSame(reviewAdmission(body, { snapshot: nothing }), {
      review: {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid: 'review-1', allowed: true },
      },
      hint: { kind: 'service', key: 'service:shop/cart', operation: 'CREATE', uid: 'uid-cart' },
    })
    t.end()
  })

  t.test('that is malformed is a problem with its field', t => {
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
      t.match(reviewAdmission(body, { snapshot: nothing }), { problem: { severity: 'error', path } })
    }
    t.end()
  })
  t.end()
})

t.test('a decision', t => {
  t.test('denies what is not valid with every reason, in the words of the API server, and no hint', t => {
    const route = aRoute({
      hostnames: ['not a host'],
      rules: [{ matches: [{ path: { type: 'Odd', value: '/' } }] }],
    })
    const { verdict, hint } = decideAdmission(aRequest(route), { snapshot: nothing })
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
    t.end()
  })

  t.test('looks at the object before where a rule compares the two', t => {
    const before = aRoute({ hostnames: ['not a host'] })
    const after = { ...before, metadata: { ...before.metadata, labels: { a: 'b' } } }
    const update = { operation: 'UPDATE', oldObject: before } as const
    t.equal(decideAdmission(aRequest(after), { snapshot: nothing }).verdict.allowed, false)
    t.equal(
      decideAdmission(aRequest(after, update), { snapshot: nothing }).verdict.allowed,
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
    t.match(decideAdmission(moved, { snapshot: nothing }).verdict, {
      allowed: false,
      status: { message: /immutable/ },
    })
    t.end()
  })

  t.test('has no opinion of kinds and subresources that are none of its business', t => {
    const pod = anObject('Pod', 'p', { anything: 1 }, 'shop', 'v1')
    t.strictSame(decideAdmission(aRequest(pod), { snapshot: nothing }), { verdict: { allowed: true } })
    const status = aRequest(aRoute({ rules: 7 }), { subResource: 'status', operation: 'UPDATE' })
    t.strictSame(decideAdmission(status, { snapshot: nothing }), { verdict: { allowed: true } })
    const connect = aRequest(aService('a'), { operation: 'CONNECT' })
    t.strictSame(decideAdmission(connect, { snapshot: nothing }), { verdict: { allowed: true } })
    t.end()
  })

  t.test('allows every delete and hints at it; a dry run leaves no trace', t => {
    const object = aService('cart')
    const gone = { uid: 'r', operation: 'DELETE', object: null, oldObject: object } as const
    t.strictSame(decideAdmission(aRequest(object, gone), { snapshot: nothing }), {
      verdict: { allowed: true },
      hint: { kind: 'service', key: 'service:shop/cart', operation: 'DELETE', uid: 'uid-cart' },
    })
    t.strictSame(decideAdmission(aRequest(object, { dryRun: true }), { snapshot: nothing }), {
      verdict: { allowed: true },
    })
    t.end()
  })

  t.test('names unknown fields as warnings: this schema may be the older one', t => {
    const { verdict } = decideAdmission(aRequest(aRoute({ novelty: 1 })), { snapshot: nothing })
    t.match(verdict, { allowed: true, warnings: [/spec\.novelty/] })
    t.end()
  })

  t.test('survives whatever is sent as an object', t => {
    for (const object of [null, {}, { metadata: 7 }, { apiVersion: 'v1', kind: 'Service' }, []]) {
      const request = { ...aRequest(aService('a')), object } as AdmissionRequest
      t.equal(decideAdmission(request, { snapshot: nothing }).verdict.allowed, false)
    }
    t.end()
  })
  t.end()
})

t.test('what rests on other objects is a warning, so that the order of creation never matters', t => {
  const route = aRoute({
    parentRefs: [{ name: 'public', sectionName: 'https' }, { name: 'private' }],
    rules: [
      {
        backendRefs: [
          { name: 'cart', port: 80 },
          { name: 'pay', namespace: 'bank', port: 80 },
        ],
        filters: [{ type: 'RequestMirror', requestMirror: { backendRef: { name: 'copy', port: 80 } } }],
      },
    ],
  })
  const warnings = (...objects: readonly KubeObject[]) =>
    decideAdmission(aRequest(route), { snapshot: snapshotOf(...objects) }).verdict.warnings ?? []

  t.strictSame(warnings(), [
    'spec.parentRefs[0]: Gateway shop/public does not exist yet',
    'spec.parentRefs[1]: Gateway shop/private does not exist yet',
    'spec.rules[0].backendRefs[0]: Service shop/cart does not exist yet',
    'spec.rules[0].filters[0].requestMirror.backendRef: Service shop/copy does not exist yet',
    'spec.rules[0].backendRefs[1]: no ReferenceGrant in namespace bank allows it',
  ])
  const privateGateway = { ...aGateway, metadata: { ...aGateway.metadata, name: 'private' } }
  const world = [aGateway, privateGateway, aService('cart'), aService('copy')]
  t.strictSame(warnings(...world), [
    'spec.parentRefs[0].sectionName: Gateway shop/public has no listener "https"',
    'spec.rules[0].backendRefs[1]: no ReferenceGrant in namespace bank allows it',
  ])
  t.strictSame(
    warnings(...world, aService('pay', 'bank')).length,
    2,
    'whether something is there behind a closed door is not told',
  )
  const grant = (name?: string) =>
    anObject(
      'ReferenceGrant',
      'g',
      {
        from: [{ group, kind: 'HTTPRoute', namespace: 'shop' }],
        to: [{ group: '', kind: 'Service', ...(name !== undefined && { name }) }],
      },
      'bank',
    )
  t.match(warnings(...world, grant()), [
    /sectionName/,
    /backendRefs\[1\]: Service bank\/pay does not exist yet/,
  ])
  t.match(warnings(...world, grant('other')).at(-1), /no ReferenceGrant/)
  t.match(warnings(...world, grant('pay'), aService('pay', 'bank')), [/sectionName/])

  const gateway = anObject('Gateway', 'tls', {
    gatewayClassName: 'c',
    listeners: [
      {
        name: 'a',
        port: 443,
        protocol: 'HTTPS',
        tls: { certificateRefs: [{ name: 's', namespace: 'vault' }] },
      },
    ],
  })
  t.strictSame(decideAdmission(aRequest(gateway), { snapshot: nothing }).verdict.warnings, [
    'spec.listeners[0].tls.certificateRefs[0]: no ReferenceGrant in namespace vault allows it',
  ])
  t.strictSame(
    decideAdmission(aRequest(route), { snapshot: nothing, checks: [] }).verdict,
    { allowed: true },
    'the checks are a list that can be another',
  )
  t.equal(new Set(crossChecks.map(({ name }) => name)).size, crossChecks.length)
  t.end()
})
