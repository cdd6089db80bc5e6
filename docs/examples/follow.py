#!/usr/bin/env python3
"""Follow an agent's events with nothing but NATS's text protocol.

    follow.py HOST:PORT SUBJECT [FROM]

SUBJECT is what a task call announces: agents.v1.WS.events.ROOT.> It prints each
event with its sequence number, those that are stored first, then live, and ends
with the root's session_end. FROM is the first sequence number of interest.
"""
import json
import socket
import sys
import uuid

address, subject = sys.argv[1:3]
start = int(sys.argv[3]) if len(sys.argv) > 3 else 1
host, port = address.rsplit(":", 1)
conn = socket.create_connection((host, int(port)))
lines = conn.makefile("rb")


def send(text):
    conn.sendall(text.encode() + b"\r\n")


# One consumer, which the server forgets soon after we are gone.
inbox, name = "_INBOX." + uuid.uuid4().hex, uuid.uuid4().hex
request = json.dumps({"stream_name": "AGENT_EVENTS", "config": {
    "name": name, "filter_subject": subject, "deliver_subject": inbox + ".events", "ack_policy": "none",
    "deliver_policy": "by_start_sequence", "opt_start_seq": start, "inactive_threshold": 30_000_000_000,
    "mem_storage": True, "num_replicas": 1}})
send('CONNECT {"verbose":false,"pedantic":false,"headers":true,"name":"follow.py"}')
send(f"SUB {inbox}.created 1\r\nSUB {inbox}.events 2")
send(f"PUB $JS.API.CONSUMER.CREATE.AGENT_EVENTS.{name}.{subject} {inbox}.created {len(request)}\r\n{request}")

while line := lines.readline():
    word, *args = line.decode().split()
    if word == "PING":
        send("PONG")
    elif word == "-ERR":
        sys.exit(line.decode().strip())
    elif word in ("MSG", "HMSG"):  # SUBJECT SID [REPLY] [BYTES OF HEADERS] BYTES
        data = lines.read(int(args[-1]) + 2)[:-2]
        data = data[int(args[-2]):] if word == "HMSG" else data
        if args[0] == inbox + ".created":
            if error := json.loads(data).get("error"):
                sys.exit(error["description"])
            continue
        seq = args[2].split(".")[5]  # $JS.ACK.STREAM.CONSUMER.DELIVERED.SEQUENCE.…
        print(seq, data.decode(), flush=True)
        event = json.loads(data)
        while "event" in event:  # an event of a subagent stands in envelopes
            event = event["event"]
        if args[0] == subject.removesuffix(">") + "turn" and event["type"] == "session_end":
            sys.exit(0)
sys.exit("the server has closed the connection")
