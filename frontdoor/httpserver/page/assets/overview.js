// All sessions.

import { h } from './dom.js';
import { go } from './router.js';
import { may } from './api.js';
import { live, onChange } from './live.js';
import { count } from './format.js';
import { Tree } from './tree.js';

export function overview() {
  const tree = new Tree({ open: (id) => go(`/sessions/${encodeURIComponent(id)}`), label: 'Sessions' });
  const filter = h('input', { type: 'search', placeholder: 'Filter', 'aria-label': 'Filter the sessions', oninput: () => { tree.filter = filter.value.trim(); tree.layout(); } });
  const running = h('input', { type: 'checkbox', onchange: () => { tree.running = running.checked; tree.layout(); } });
  const totals = h('span', { class: 'totals' });
  const sum = () => {
    let run = 0;
    let ended = 0;
    let spent = 0;
    for (const row of live.rows.values()) {
      if (row.endedAt) ended++;
      else if (row.agent) run++;
      spent += Number(row.usage.cost ?? 0);
    }
    totals.textContent = `${count(run)} running · ${count(ended)} ended${spent ? ` · $${spent.toFixed(2)}` : ''}`;
  };
  const end = onChange(sum);
  const element = h('div', { class: 'overview' },
    h('div', { class: 'bar-top' }, h('h1', {}, 'Sessions'), totals, h('span', { class: 'grow' }),
      h('label', { class: 'check' }, running, ' running only'), filter,
      may('run') ? h('a', { class: 'begin', href: '/agents' }, 'Start a task') : null),
    h('div', { class: 'row head', 'aria-hidden': 'true' }, h('span', { class: 'what' }, 'Agent and task'), h('span', { class: 'doing' }, 'Doing'),
      h('span', { class: 'model' }, 'Model'), h('span', { class: 'tokens' }, 'Tokens'), h('span', { class: 'money' }, 'Cost'), h('span', { class: 'age', title: 'How long it has run, or ran' }, 'Time')),
    tree.element);
  requestAnimationFrame(() => tree.layout());
  sum();
  return {
    element,
    title: '',
    close() {
      end();
      tree.close();
    },
    key(name) {
      if (name === '/') {
        filter.focus();
        return true;
      }
      return tree.key(name);
    },
  };
}
