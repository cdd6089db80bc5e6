// Gives a task to an agent over NATS, follows what it does, and prints its answer.
//
//   npm install @nats-io/transport-node @nats-io/jetstream
//   node call.ts nats://127.0.0.1:4222 WORKSPACE AGENT PROMPT      (Node.js 24; others need tsx)
import { connect, createInbox, headers, type MsgHdrs } from "@nats-io/transport-node"
import { jetstream } from "@nats-io/jetstream"

const [servers, workspace, agentType, prompt] = process.argv.slice(2)
const nc = await connect({ servers })
const service = `agents.v1.${workspace}.service.`

// request makes a call of the service.
async function request<T>(name: string, body: object, headers?: MsgHdrs): Promise<T> {
  const msg = await nc.request(service + name, JSON.stringify(body), { timeout: 60_000, headers })
  const code = msg.headers?.get("Nats-Service-Error-Code")
  if (code) throw new Error(`${name}: ${code}: ${msg.headers?.get("Nats-Service-Error")}`)
  return msg.json<T>()
}

// The worker says here where the events of the call are.
const opened = nc.subscribe(createInbox(), { max: 1 })
const wanted = headers()
wanted.set("Agent-Session-Reply", opened.getSubject())
const accepted = await request<{ status: string; agent: string; sessionId: string }>(
  "task", { description: "an example", prompt, agentType, background: true }, wanted)
console.log(accepted.status, accepted.agent)

// An event of a subagent stands in envelopes.
type Event = { type: string; status?: string; toolName?: string; agentType?: string; event?: Event }

for await (const announced of opened) {
  const { subject, stream } = announced.json<{ subject: string; stream: string }>()
  const consumer = await jetstream(nc).consumers.get(stream, { filter_subjects: subject })
  for await (const msg of await consumer.consume()) {
    let event = msg.json<Event>()
    let who = "the caller"
    for (; event.event; event = event.event) who = event.agentType ?? ""
    if (event.type === "tool_call_start") console.log(who, "calls", event.toolName)
    if (event.type !== "session_end") continue
    console.log(who, "has ended:", event.status)
    if (msg.subject === subject.replace(/>$/, "turn")) break
  }
}

const answer = await request<{ status: string; text: string }>("task_result", { sessionId: accepted.sessionId })
console.log(`${answer.status}:\n${answer.text}`)
await nc.close()
