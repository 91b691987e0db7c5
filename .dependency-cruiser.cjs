// The data flows one way, and so do the imports: a room may import only the rooms before it, through their doors.
const ROOMS = [
  'core',
  'kinds',
  'collections',
  'store',
  'kube',
  'sources',
  'topology',
  'model',
  'envoy',
  'xds',
  'status',
  'provision',
  'controller',
  'server',
  'cli',
]
// The commands start what the composition root joins.
const composed = room => (room === 'cli' ? ['(run|webhook|relay)\\.ts$'] : [])
const before = room => ROOMS.slice(0, ROOMS.indexOf(room))
module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true, dependencyTypesNot: ['type-only'] },
    },
    ...ROOMS.map(room => ({
      name: `left-to-right-${room}`,
      comment: `src/${room} may import only: ${before(room).join(' ') || 'nothing'}`,
      severity: 'error',
      from: { path: `^src/${room}/` },
      to: {
        path: '^src/',
        pathNot: `^src/(${[`${room}/`, ...before(room).map(other => `${other}/index\\.ts$`), ...composed(room)].join('|')})`,
      },
    })),
    {
      name: 'client-library-in-one-room',
      severity: 'error',
      from: { pathNot: '^src/kube/' },
      to: { path: 'node_modules/@kubernetes/client-node' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'default'],
      extensions: ['.ts', '.js', '.json'],
    },
  },
}
