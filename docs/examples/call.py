#!/usr/bin/env python3
"""Give a task to an agent over NATS, follow what it does, and print its answer.

    call.py HOST:PORT WORKSPACE AGENT PROMPT

It speaks NATS's text protocol over a socket, and needs no library.
"""
import json
import socket
import sys
import uuid

address, workspace, agent, prompt = sys.argv[1:5]
service = f"agents.v1.{workspace}.service."
host, port = address.rsplit(":", 1)
conn = socket.create_connection((host, int(port)))
lines = conn.makefile("rb")
inbox = "_INBOX." + uuid.uuid4().hex
waiting = {}  # messages that have come, by their subjects


def publish(subject, reply, body, headers=None):
    head = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    head, data = f"NATS/1.0\r\n{head}\r\n".encode(), json.dumps(body).encode()
    conn.sendall(f"HPUB {subject} {reply} {len(head)} {len(head) + len(data)}\r\n".encode() + head + data + b"\r\n")


def receive(subject):
    """Return the next message on one of our subjects: its own subject, headers and data."""
    while not waiting.get(subject):
        line = lines.readline()
        if not line:
            sys.exit("the server has closed the connection")
        word, *args = line.decode().split()
        if word == "PING":
            conn.sendall(b"PONG\r\n")
        elif word == "-ERR":
            sys.exit(line.decode().strip())
        elif word in ("MSG", "HMSG"):  # SUBJECT SID [REPLY] [BYTES OF HEADERS] BYTES
            data = lines.read(int(args[-1]) + 2)[:-2]
            length = int(args[-2]) if word == "HMSG" else 0
            headers = dict(h.split(": ", 1) for h in data[:length].decode().split("\r\n") if ": " in h)
            sid = f"{inbox}.{args[1]}"
            waiting.setdefault(sid, []).append((args[0], headers, json.loads(data[length:] or b"null")))
    return waiting[subject].pop(0)


def request(name, body, headers=None):
    publish(name, f"{inbox}.1", body, headers)
    _, headers, answer = receive(f"{inbox}.1")
    if code := headers.get("Nats-Service-Error-Code"):
        sys.exit(f"{name}: {code}: {headers.get('Nats-Service-Error')}")
    return answer


conn.sendall(b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"name":"call.py"}\r\n')
for n in 1, 2, 3:  # answers, where the events are, the events
    conn.sendall(f"SUB {inbox}.{n} {n}\r\n".encode())

accepted = request(service + "task", {"description": "an example", "prompt": prompt, "agentType": agent, "background": True},
                   {"Agent-Session-Reply": f"{inbox}.2"})
print(accepted["status"], accepted["agent"])

# One consumer, which the server forgets soon after we are gone.
_, _, where = receive(f"{inbox}.2")
name, subject, stream = uuid.uuid4().hex, where["subject"], where["stream"]
made = request(f"$JS.API.CONSUMER.CREATE.{stream}.{name}.{subject}", {"stream_name": stream, "config": {
    "name": name, "filter_subject": subject, "deliver_subject": f"{inbox}.3", "ack_policy": "none", "deliver_policy": "all",
    "inactive_threshold": 30_000_000_000, "mem_storage": True, "num_replicas": 1}})
if error := made.get("error"):
    sys.exit(error["description"])
at, event = "", {}
while at != subject.removesuffix(">") + "turn" or event["type"] != "session_end":
    at, _, event = receive(f"{inbox}.3")
    who = "the caller"
    while "event" in event:  # an event of a subagent stands in envelopes
        who, event = event["agentType"], event["event"]
    if event["type"] == "tool_call_start":
        print(who, "calls", event["toolName"])
    elif event["type"] == "session_end":
        print(who, "has ended:", event["status"])

answer = request(service + "task_result", {"sessionId": accepted["sessionId"]})
print(answer["status"] + ":")
print(answer["text"])
