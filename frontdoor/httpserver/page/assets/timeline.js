// Swimlanes: a lane is a session, its width is time, its colour what the session did, or
// what that cost.

import { h, keyed, s, setText } from './dom.js';
import { get, pace } from './api.js';
import { live, onChange } from './live.js';
import { age, cost, count } from './format.js';

const again = 2000;
const words = { streaming: 'the model answers', executing_tool: 'tools run', waiting_approval: 'waits for somebody', paused: 'paused', queued: 'waits for a slot', idle: 'idle' };
const levels = 5; // of costs
const width = 1000; // of the drawing, in its own units

let byCost = false; // stays as it was chosen

export function timeline(id) {
  const ticks = [0, 0.25, 0.5, 0.75, 1].map(() => h('span'));
  const axis = h('div', { class: 'lane axis', 'aria-hidden': 'true' }, h('span'), h('span', { class: 'ticks' }, ticks));
  const lanes = h('div', { role: 'list', 'aria-label': 'Timeline' });
  const empty = h('p', { class: 'empty', hidden: true });
  const legend = h('div', { class: 'legend' });
  const choice = (text, value) => h('label', {}, h('input', { type: 'radio', name: 'colour', checked: byCost === value, onchange: () => { byCost = value; draw(); } }), ` ${text}`);
  const colour = h('fieldset', { class: 'choice' }, h('legend', {}, 'Colour'), choice('state', false), choice('cost', true));
  let list = [];
  let closed = false;
  let waits = false;

  async function load() {
    if (closed || waits) return;
    waits = true;
    const begun = performance.now();
    try {
      list = (await get(`/page/sessions/${encodeURIComponent(id)}/timeline`)).lanes;
      draw();
    } catch (e) {
      empty.hidden = false;
      setText(empty, e.message);
    }
    setTimeout(() => {
      waits = false;
      if (!live.rows.get(id)?.endedAt) load();
    }, pace(again, begun));
  }

  function draw() {
    if (closed) return;
    const now = Date.now();
    const spans = list.flatMap((lane) => lane.spans);
    empty.hidden = spans.length > 0;
    axis.hidden = !spans.length;
    if (!spans.length) {
      setText(empty, 'Nothing has happened yet.');
      return;
    }
    let from = Infinity;
    let to = 0;
    let dearest = 0;
    for (const x of spans) {
      from = Math.min(from, x.from);
      to = Math.max(to, x.to || now, from + 1);
      dearest = Math.max(dearest, Number(x.cost ?? 0));
    }
    const tenths = to - from < 20_000;
    for (const [i, tick] of ticks.entries()) {
      const ms = ((to - from) * i) / 4;
      setText(tick, tenths ? `${(ms / 1000).toFixed(1)}s` : age(ms));
    }
    const how = { from, to, now, classOf: byCost ? (x) => costClass(x, dearest) : (x) => x.state };
    keyed(lanes, list.filter((lane) => lane.spans.length), (lane) => lane.id, laneElement, (el, lane) => fillLane(el, lane, how));
    legend.replaceChildren(...(byCost ? costLegend(dearest) : Object.entries(words).map(([state, text]) => sign(state, text))));
  }

  const end = onChange((change) => {
    if (change.structure || change.rows.has(id)) load();
  });
  load();
  return {
    element: h('div', {}, colour, h('div', { class: 'lanes' }, axis, lanes, empty), legend),
    close() {
      closed = true;
      end();
    },
  };
}

const sign = (name, text) => h('span', {}, s('svg', { viewBox: '0 0 10 10', 'aria-hidden': 'true' }, s('path', { class: `span ${name}`, d: 'M0 0h10v10h-10z' })), text);

// costClass is the colour of a span by what the model's answers in it cost: one of the levels
// up to the dearest; where nothing is paid for, and where the price is not known, others.
function costClass(x, dearest) {
  if (!x.tokens) return 'free';
  if (x.cost === undefined) return 'unpriced';
  return `cost-${Math.min(levels, Math.floor((levels * Number(x.cost)) / (dearest || 1)) + 1)}`;
}

const dollars = (n) => cost({ cost: n });

function costLegend(dearest) {
  const shown = dearest ? Array.from({ length: levels }, (_, i) => sign(`cost-${i + 1}`, `${i === levels - 1 ? 'up to' : 'below'} ${dollars((dearest * (i + 1)) / levels)}`)) : [];
  return [...shown, sign('unpriced', 'price not known'), sign('free', 'costs nothing')];
}

function laneElement() {
  const group = s('g');
  const picture = s('svg', { viewBox: `0 0 ${width} 18`, preserveAspectRatio: 'none', role: 'img' }, group);
  const name = h('a');
  const el = h('div', { class: 'lane', role: 'listitem' }, name, picture);
  Object.assign(el, { group, picture, name });
  picture.addEventListener('pointermove', (ev) => point(el, ev));
  return el;
}

// fillLane draws a lane, with one path for all spans of a colour: a lane may have hundreds.
function fillLane(el, lane, how) {
  el.lane = lane;
  el.how = how;
  el.name.href = `/sessions/${encodeURIComponent(lane.id)}`;
  el.name.title = lane.label ?? '';
  setText(el.name, lane.agent || 'caller');
  el.name.style.paddingLeft = `${12 + Math.min(lane.depth, 6) * 14}px`;
  const paths = new Map();
  const scale = width / (how.to - how.from);
  for (const x of lane.spans) {
    const long = Math.max(1.5, ((x.to || how.now) - x.from) * scale).toFixed(1);
    const name = how.classOf(x);
    paths.set(name, `${paths.get(name) ?? ''}M${((x.from - how.from) * scale).toFixed(1)} 2h${long}v14h-${long}z`);
  }
  keyed(el.group, [...paths], ([name]) => name, ([name]) => s('path', { class: `span ${name}` }), (path, [, d]) => {
    if (path.getAttribute('d') !== d) path.setAttribute('d', d);
  });
  el.picture.setAttribute('aria-label', summary(lane, how.now));
}

// summary is a lane in words: how long it did what, and what that cost.
function summary(lane, now) {
  const times = new Map();
  let tokens = 0;
  let paid = 0;
  for (const x of lane.spans) {
    times.set(x.state, (times.get(x.state) ?? 0) + (x.to || now) - x.from);
    tokens += x.tokens ?? 0;
    paid += Number(x.cost ?? 0);
  }
  const parts = [...times].map(([state, ms]) => `${words[state] ?? state} ${age(ms)}`);
  if (tokens) parts.push(`${count(tokens)} tokens`);
  if (paid) parts.push(dollars(paid));
  return parts.join(', ');
}

// point says what the span under the pointer is.
function point(el, ev) {
  const box = el.picture.getBoundingClientRect();
  const at = el.how.from + ((ev.clientX - box.left) / box.width) * (el.how.to - el.how.from);
  const x = el.lane.spans.findLast((span) => span.from <= at);
  if (!x) return;
  const paid = x.tokens ? `, ${count(x.tokens)} tokens, ${x.cost === undefined ? 'price not known' : dollars(Number(x.cost))}` : '';
  el.title = `${words[x.state] ?? x.state}: ${age((x.to || el.how.now) - x.from)}${paid}`;
}
