/**
 * Variants of a few objects that refer to each other in every way: what random edits choose from. Each row is one
 * object; its first variant is valid.
 */
import type { KubeObject } from '../../src/core/index.js'
import { other, shop } from '../model/pairs.js'
import {
  aBackend,
  aClass,
  aGateway,
  aGrant,
  aListener,
  aNamespace,
  aRoute,
  aRule,
  aSecret,
  aSecureListener,
  aService,
  aSlice,
} from '../model/world.js'

export const http = aListener('http', 80)
const wild = aListener('wild', 80, { hostname: '*.shop.test' })
const all = { namespaces: { from: 'All' as const } }
const byLabel = { namespaces: { from: 'Selector' as const, selector: { matchLabels: { team: 'web' } } } }
const mirror = { type: 'RequestMirror', requestMirror: { backendRef: { name: 'web', port: 8080 } } }
const far = { backendRefs: [{ name: 'cart', namespace: 'stock', port: 8080 }] }
const legacy = { backendRefs: [{ group: 'gatewright.io', kind: 'Backend', name: 'legacy' }] }
const fromShop = [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'shop' }]
const bad = { matches: [{ path: { type: 'RegularExpression' as const, value: '(' } }] }

export const pool: readonly (readonly KubeObject[])[] = [
  [aClass(), aClass('gatewright', 'example.test/other')],
  [
    aGateway('public', [http]),
    aGateway('public', [http, wild]),
    aGateway('public', [http, wild, aSecureListener('https', 'tls')]),
    aGateway('public', [http, aListener('https', 80, { protocol: 'HTTPS' })]),
    aGateway('public', [
      { ...http, allowedRoutes: all },
      { ...wild, allowedRoutes: byLabel },
    ]),
    aGateway('public', [
      aSecureListener('https', 'tls'),
      aSecureListener('one', 'tls-2', { hostname: 'a.shop.test' }),
    ]),
    aGateway('public', [http], { infrastructure: { parametersRef: { group: 'x', kind: 'Y', name: 'z' } } }),
  ],
  [aGateway('private', [http]), aGateway('private', [aListener('http', 8080)])],
  [
    aRoute('cart', [aRule('/', 'cart')], { hostnames: ['a.shop.test'] }),
    aRoute('cart', [aRule('/', 'cart'), aRule('/web', 'web')], { hostnames: ['a.shop.test', '*.shop.test'] }),
    aRoute('cart', [aRule('/x', 'web', far)], {
      hostnames: ['b.test'],
      parentRefs: [{ name: 'public' }, { name: 'private' }],
    }),
    aRoute('cart', [aRule('/', 'cart', { filters: [mirror] }), bad]),
    aRoute('cart', [bad]),
  ],
  [
    aRoute('old', [aRule('/', 'web')], { createdAt: '2020-01-01T00:00:00Z' }),
    aRoute('old', [aRule('/o', 'web')]),
  ],
  [
    aRoute('blog', [aRule('/blog', 'web')], { namespace: 'blog' }),
    aRoute('blog', [aRule('/b', 'cart', legacy)], {
      namespace: 'blog',
      parentRefs: [{ name: 'public', namespace: 'shop', sectionName: 'wild' }],
    }),
  ],
  [aRoute('legacy', [aRule('/l', '', legacy)], { hostnames: ['l.test', 'a.shop.test'] })],
  [aNamespace('blog', { team: 'web' }), aNamespace('blog')],
  [
    aService('cart'),
    aService('cart', { ports: [{ port: 8080, name: 'h2', appProtocol: 'kubernetes.io/h2c' }] }),
  ],
  [aService('web'), aService('web', { type: 'ExternalName' })],
  [aService('cart', {}, 'stock')],
  [
    aSlice('cart-1', 'cart', [{ addresses: ['10.0.0.1'] }]),
    aSlice('cart-1', 'cart', [{ addresses: ['10.0.0.2'] }]),
  ],
  [
    aSlice('cart-2', 'cart', [{ addresses: ['10.0.0.1'], conditions: { ready: false } }]),
    aSlice('cart-2', 'web', []),
  ],
  [
    aGrant('g', 'stock', { from: fromShop, to: [{ group: '', kind: 'Service' }] }),
    aGrant('g', 'stock', { from: fromShop, to: [{ group: '', kind: 'Service', name: 'web' }] }),
  ],
  [aSecret('tls', shop), aSecret('tls', other), aSecret('tls', { crt: shop.crt, key: other.key })],
  [aSecret('tls-2', other)],
  [
    aBackend('legacy', { endpoints: [{ host: '192.0.2.1', port: 80 }] }),
    aBackend('legacy', { endpoints: [{ host: 'legacy.test', port: 80 }], protocol: 'h2c' }),
  ],
]
