// Swimlanes: a lane is a session, its width is time, its colour what the session did.

import { h, s } from './dom.js';
import { get } from './api.js';
import { live, onChange } from './live.js';
import { age } from './format.js';

const again = 2000;
const words = { streaming: 'the model answers', executing_tool: 'tools run', waiting_approval: 'waits for somebody', queued: 'waits for a slot', idle: 'idle' };
const width = 1000; // of the drawing, in its own units

export function timeline(id) {
  const lanes = h('div', { class: 'lanes', role: 'list', 'aria-label': 'Timeline' });
  const legend = h('div', { class: 'legend' }, Object.entries(words).map(([state, text]) =>
    h('span', {}, s('svg', { viewBox: '0 0 10 10', 'aria-hidden': 'true' }, s('rect', { class: `span ${state}`, width: 10, height: 10, rx: 2 })), text)));
  let closed = false;
  let waits = false;

  async function load() {
    if (closed || waits) return;
    waits = true;
    try {
      draw((await get(`/page/sessions/${encodeURIComponent(id)}/timeline`)).lanes);
    } catch (e) {
      lanes.replaceChildren(h('p', { class: 'empty' }, e.message));
    }
    setTimeout(() => {
      waits = false;
      if (!live.rows.get(id)?.endedAt) load();
    }, again);
  }

  function draw(list) {
    if (closed) return;
    const now = Date.now();
    const spans = list.flatMap((lane) => lane.spans);
    if (!spans.length) {
      lanes.replaceChildren(h('p', { class: 'empty' }, 'Nothing has happened yet.'));
      return;
    }
    const from = Math.min(...spans.map((x) => x.from));
    const to = Math.max(...spans.map((x) => x.to || now), from + 1);
    const at = (t) => ((t - from) / (to - from)) * width;
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => h('span', {}, age((to - from) * part)));
    lanes.replaceChildren(h('div', { class: 'lane axis' }, h('span'), h('span', { class: 'ticks' }, ticks)), ...list.map((lane) => {
      const picture = s('svg', { viewBox: `0 0 ${width} 18`, preserveAspectRatio: 'none', role: 'img', 'aria-label': lane.spans.map((x) => `${words[x.state] ?? x.state} ${age((x.to || now) - x.from)}`).join(', ') });
      for (const x of lane.spans) {
        const rect = s('rect', { class: `span ${x.state}`, x: at(x.from), y: 2, height: 14, width: Math.max(1.5, at(x.to || now) - at(x.from)) });
        rect.append(s('title', {}, `${words[x.state] ?? x.state}: ${age((x.to || now) - x.from)}`));
        picture.append(rect);
      }
      const name = h('a', { href: `/sessions/${encodeURIComponent(lane.id)}`, title: lane.label ?? '' }, lane.agent || 'caller');
      name.style.paddingLeft = `${12 + Math.min(lane.depth, 6) * 14}px`;
      return h('div', { class: 'lane', role: 'listitem' }, name, picture);
    }));
  }

  const end = onChange((change) => {
    if (change.structure || change.rows.has(id)) load();
  });
  load();
  return {
    element: h('div', {}, lanes, legend),
    close() {
      closed = true;
      end();
    },
  };
}
