// node tools/demo-backend.mjs NAME PORT: answers every request on 127.0.0.1:PORT with its name and what it was asked.
import { createServer } from 'node:http'

const [name = 'backend', port = '0'] = process.argv.slice(2)
const server = createServer((request, response) => {
  response.setHeader('content-type', 'text/plain')
  response.end(`${name} got ${request.method} ${request.url}\n`)
})
server.listen(Number(port), '127.0.0.1', () => console.log(`${name} listens on ${server.address().port}`))
