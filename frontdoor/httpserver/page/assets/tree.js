// The tree of sessions. Only rows that are on the screen are in the document, and of
// those only what has changed is touched.

import { h, setText, setClass } from './dom.js';
import { live, onChange } from './live.js';
import { age, cost, tokens, state, title, shortModel } from './format.js';

const narrow = matchMedia('(max-width: 720px)');
const folded = new Set();

export class Tree {
  // top is the session whose descendants are shown; '': all sessions. most is how many rows
  // there are at first; a button shows the rest.
  constructor({ top = '', open, label, most = Infinity }) {
    this.top = top;
    this.most = most;
    this.rest = h('button', { type: 'button', class: 'quiet rest', hidden: true, onclick: () => { this.most = Infinity; this.layout(); } });
    this.open = open;
    this.list = []; // {id, depth, more}
    this.elements = new Map();
    this.selected = null;
    this.filter = '';
    this.running = false;
    this.body = h('div', { class: 'rows', role: 'tree', tabIndex: 0, 'aria-label': label });
    this.empty = h('p', { class: 'empty' });
    this.element = h('div', { class: 'tree' }, this.body, this.rest, this.empty);
    this.stop = [onChange((change) => this.#change(change))];
    const draw = () => this.draw();
    for (const name of ['scroll', 'resize']) {
      addEventListener(name, draw, { passive: true });
      this.stop.push(() => removeEventListener(name, draw));
    }
    const timer = setInterval(() => this.#ages(), 1000);
    this.stop.push(() => clearInterval(timer));
    this.body.addEventListener('click', (ev) => {
      const row = ev.target.closest('.row');
      if (!row) return;
      if (ev.target.closest('.fold')) this.fold(row.dataset.id);
      else if (!ev.target.closest('a')) this.select(row.dataset.id);
    });
    this.body.addEventListener('dblclick', (ev) => {
      const row = ev.target.closest('.row');
      if (row) this.open(row.dataset.id);
    });
  }

  close() {
    for (const end of this.stop) end();
  }

  height() {
    return narrow.matches ? 60 : 36;
  }

  #change(change) {
    if (change.structure || (this.filter && change.rows.size)) {
      this.layout();
      return;
    }
    for (const id of change.rows) {
      const el = this.elements.get(id);
      if (el) this.#fill(el, live.rows.get(id));
    }
  }

  // layout makes the list of the rows anew.
  layout() {
    this.list = [];
    const wanted = this.#wanted();
    const walk = (parent, depth) => {
      const ids = live.children.get(parent) ?? [];
      for (const id of parent === this.top ? [...ids].reverse() : ids) { // the newest first
        if (wanted && !wanted.has(id)) continue;
        const more = (live.children.get(id) ?? []).length > 0;
        this.list.push({ id, depth, more });
        if (more && !folded.has(id)) walk(id, depth + 1);
      }
    };
    walk(this.top, 0);
    const more = this.list.length - this.most;
    this.rest.hidden = more <= 0;
    if (more > 0) {
      setText(this.rest, `Show ${more} more`);
      this.list.length = this.most;
    }
    this.body.style.height = `${this.list.length * this.height()}px`;
    this.empty.hidden = this.list.length > 0;
    const none = this.filter || this.running ? 'No session is like that.' : 'No sessions yet: start a task on the page Agents, or call one from a host.';
    setText(this.empty, live.loaded ? none : 'Loading.');
    this.draw();
  }

  // #wanted are the sessions that pass the filter, with those above them; null: all do.
  #wanted() {
    if (!this.filter && !this.running) return null;
    const wanted = new Set();
    const text = this.filter.toLowerCase();
    for (const row of live.rows.values()) {
      if (this.running && row.endedAt) continue;
      if (text && !`${row.agent ?? ''} ${row.label ?? ''} ${row.model ?? ''} ${row.tool ?? ''} ${row.id} ${state(row).text}`.toLowerCase().includes(text)) continue;
      for (let r = row; r && !wanted.has(r.id); r = live.rows.get(r.parentId)) wanted.add(r.id);
    }
    return wanted;
  }

  // draw has in the document what is on the screen, and some rows around it.
  draw() {
    const high = this.height();
    const at = this.body.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(-at / high) - 8);
    const last = Math.min(this.list.length, Math.ceil((innerHeight - at) / high) + 8);
    const shown = new Set();
    for (let i = first; i < last; i++) {
      const { id, depth, more } = this.list[i];
      shown.add(id);
      let el = this.elements.get(id);
      if (!el) {
        el = this.#make(id);
        this.elements.set(id, el);
        this.body.append(el);
      }
      el.style.transform = `translateY(${i * high}px)`;
      el.style.setProperty('--depth', Math.min(depth, narrow.matches ? 6 : 12));
      el.setAttribute('aria-level', depth + 1);
      el.setAttribute('aria-posinset', i + 1);
      el.setAttribute('aria-setsize', this.list.length);
      el.cells.fold.hidden = !more;
      if (more) el.setAttribute('aria-expanded', !folded.has(id));
      else el.removeAttribute('aria-expanded');
      this.#fill(el, live.rows.get(id));
    }
    for (const [id, el] of this.elements) {
      if (shown.has(id)) continue;
      el.remove();
      this.elements.delete(id);
    }
  }

  #make(id) {
    const cell = (name, tag = 'span') => h(tag, { class: name });
    const cells = {
      fold: h('button', { type: 'button', class: 'fold', tabIndex: -1, 'aria-label': 'Fold' }), dot: cell('dot'),
      name: h('a', { class: 'name', href: `/sessions/${encodeURIComponent(id)}`, tabIndex: -1 }), label: cell('label'),
      state: cell('state'), tool: cell('tool'), model: cell('model'), tokens: cell('tokens'), cost: cell('cost'), age: cell('age'),
      bar: h('meter', { class: 'bar', min: 0, max: 100, high: 80, hidden: true }),
    };
    const el = h('div', { class: 'row', role: 'treeitem', id: `row-${id}`, 'data-id': id },
      h('span', { class: 'what' }, cells.fold, cells.dot, cells.name, cells.label),
      h('span', { class: 'doing' }, cells.state, cells.tool),
      cells.model, cells.tokens, h('span', { class: 'money' }, cells.cost, cells.bar), cells.age);
    el.cells = cells;
    return el;
  }

  #fill(el, row) {
    if (!row || el.row === row) {
      this.#mark(el);
      return;
    }
    el.row = row;
    const { cells } = el;
    const now = state(row);
    setClass(cells.dot, `dot ${now.name}`);
    setText(cells.name, title(row));
    cells.name.classList.toggle('caller', !row.agent);
    setText(cells.label, row.label ?? '');
    setText(cells.state, now.text);
    setClass(cells.state, `state ${now.name}`);
    setText(cells.tool, row.endedAt ? row.error ?? '' : row.tool || row.todo || '');
    cells.tool.title = cells.tool.textContent;
    setText(cells.model, shortModel(row.model));
    cells.model.title = row.model ?? '';
    setText(cells.tokens, tokens(row.usage));
    setText(cells.cost, cost(row.usage));
    cells.bar.hidden = !row.budget;
    if (row.budget) {
      const used = Math.min(100, (100 * Number(row.budget.used)) / Number(row.budget.max)) || row.budget.percent;
      cells.bar.value = used;
      cells.bar.title = `${row.budget.used} of ${row.budget.max} ${row.budget.limit}`;
    }
    this.#age(el, Date.now());
    this.#mark(el);
  }

  #mark(el) {
    const on = el.dataset.id === this.selected;
    el.classList.toggle('selected', on);
    el.setAttribute('aria-selected', on);
  }

  #age(el, now) {
    const { row } = el;
    setText(el.cells.age, row.endedAt ? age(row.endedAt - (row.startedAt || row.createdAt)) : `${age(now - row.activeAt)} ago`);
    el.cells.age.title = row.endedAt ? `ended ${new Date(row.endedAt).toLocaleString()}` : 'since its last event';
  }

  #ages() {
    const now = Date.now();
    for (const el of this.elements.values()) if (el.row && !el.row.endedAt) this.#age(el, now);
  }

  select(id) {
    this.selected = id;
    this.body.setAttribute('aria-activedescendant', `row-${id}`);
    const at = this.list.findIndex((r) => r.id === id);
    if (at < 0) return;
    const y = this.body.getBoundingClientRect().top + at * this.height();
    if (y < 60) scrollBy(0, y - 60);
    else if (y + this.height() > innerHeight) scrollBy(0, y + this.height() - innerHeight);
    this.draw();
  }

  fold(id, fold = !folded.has(id)) {
    if (fold) folded.add(id);
    else folded.delete(id);
    this.layout();
  }

  key(name) {
    const at = this.list.findIndex((r) => r.id === this.selected);
    if (name.startsWith('Arrow') && document.activeElement !== this.body) return false; // it scrolls
    const move = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[name];
    if (move) {
      const next = this.list[at < 0 ? 0 : Math.min(this.list.length - 1, Math.max(0, at + move))];
      if (next) this.select(next.id);
      return Boolean(next);
    }
    if (!this.selected || at < 0) return false;
    if (name === 'Enter') this.open(this.selected);
    else if (name === 'h' || name === 'ArrowLeft') this.fold(this.selected, true);
    else if (name === 'l' || name === 'ArrowRight') this.fold(this.selected, false);
    else return false;
    return true;
  }
}
