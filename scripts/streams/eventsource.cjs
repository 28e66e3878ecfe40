// Observes a run with npm's eventsource, which reconnects by itself, and prints each event as a line
// of JSON. Arguments: URL, token, folder of node_modules, types of events.
const [url, token, modules, types] = process.argv.slice(2)
const { EventSource } = require(modules + '/node_modules/eventsource')
const print = (v) => process.stdout.write(JSON.stringify(v) + '\n')
let last = ''
const source = new EventSource(url, {
  fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } }),
})
for (const type of types.split(',')) {
  source.addEventListener(type, (e) => {
    const id = e.lastEventId === last ? '' : e.lastEventId // it stays the last one's where an event has none
    last = e.lastEventId
    print({ id, type, data: e.data })
    if (type === 'run.outcome') source.close()
  })
}
source.onopen = () => print({ open: true })
source.onerror = (e) => {
  if (source.readyState === EventSource.CLOSED) print(e.code === 204 ? { done: true } : { problem: `${e.code} ${e.message}` })
}
