// What an instance that validates needs, from what `npm run build` wrote: it says its address once it listens.
const dist = new URL('../../dist/', import.meta.url)
const room = name => import(new URL(`${name}/index.js`, dist).href)
const [{ createMetrics, silentLog }, { createServer }, { createAdmission }, { createStore }] =
  await Promise.all(['core', 'server', 'sources', 'store'].map(room))
const admission = createAdmission({ store: createStore(), complete: () => false })
const server = await createServer({
  log: silentLog,
  metrics: createMetrics(),
  admit: async request => (await admission.decide(request)).verdict,
})
console.log(await server.listen('127.0.0.1:0'))
