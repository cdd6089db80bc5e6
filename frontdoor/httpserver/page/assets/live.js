// What the worker tells: the rows of all sessions, the calls that wait, and that agents
// have changed, over one connection. It resumes by itself, by the id of the last event.

export const live = {
  rows: new Map(),
  children: new Map(), // ids by the id of the parent, '' for roots, in the order in which they were opened
  approvals: [],
  agents: 0,
  connected: false,
  loaded: false,
};

const listeners = new Set();

// onChange has fn called with what has changed, {rows: Set of ids, structure, approvals,
// agents, connection}, once in a frame at most. The returned function ends that.
export function onChange(fn) {
  listeners.add(fn);
  return () => listeners.delete(fn);
}

let pending = null;

function schedule() {
  if (pending) return pending;
  pending = { rows: new Set(), structure: false, approvals: false, agents: false, connection: false };
  const tell = () => {
    const change = pending;
    pending = null;
    for (const fn of [...listeners]) fn(change);
  };
  if (document.hidden) setTimeout(tell, 200); // frames stand still there; the title does not
  else requestAnimationFrame(tell);
  return pending;
}

function apply(update) {
  const change = schedule();
  if (update.reset) {
    live.rows.clear();
    live.children.clear();
    change.structure = true;
  }
  for (const row of update.rows ?? []) {
    const old = live.rows.get(row.id);
    live.rows.set(row.id, row);
    change.rows.add(row.id);
    const parent = row.parentId ?? '';
    if (!old || (old.parentId ?? '') !== parent) {
      if (old) {
        const list = live.children.get(old.parentId ?? '');
        list?.splice(list.indexOf(row.id), 1);
      }
      if (!live.children.has(parent)) live.children.set(parent, []);
      live.children.get(parent).push(row.id);
      change.structure = true;
    } else if (Boolean(old.endedAt) !== Boolean(row.endedAt)) change.structure = true;
  }
  if (update.approvals) {
    live.approvals = update.approvals;
    change.approvals = true;
  }
  if (update.agents) {
    live.agents = update.agents;
    change.agents = true;
  }
  live.loaded = true;
}

// used is how many sessions there are from one downwards, and what they have used together. The
// cost is left out where that of one of them is not known.
export function used(id) {
  const own = live.rows.get(id).usage;
  const all = { sessions: 1, usage: { ...own } };
  const known = (u) => u.cost !== undefined || !(u.inputTokens || u.outputTokens);
  for (const child of live.children.get(id) ?? []) {
    const below = used(child);
    all.sessions += below.sessions;
    for (const key of ['inputTokens', 'outputTokens', 'cacheReadTokens']) all.usage[key] = (all.usage[key] ?? 0) + (below.usage[key] ?? 0);
    const sum = Number(all.usage.cost ?? 0) + Number(below.usage.cost ?? 0);
    all.usage.cost = known(all.usage) && known(below.usage) ? sum : undefined;
  }
  return all;
}

function connected(yes) {
  if (live.connected === yes) return;
  live.connected = yes;
  schedule().connection = true;
}

let last = ''; // the id of the last event

// connect begins. A source that gives up, as it does on an answer that is no stream, is
// begun again after a while.
export function connect() {
  const source = new EventSource('/page/events' + (last ? `?last=${encodeURIComponent(last)}` : ''));
  source.addEventListener('open', () => connected(true));
  source.addEventListener('update', (ev) => {
    last = ev.lastEventId;
    connected(true);
    apply(JSON.parse(ev.data));
  });
  source.addEventListener('error', () => {
    connected(false);
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, 1000);
  });
}

// path returns the rows from the root down to a session.
export function path(id) {
  const rows = [];
  for (let row = live.rows.get(id); row && rows.length < 50; row = live.rows.get(row.parentId)) rows.unshift(row);
  return rows;
}
