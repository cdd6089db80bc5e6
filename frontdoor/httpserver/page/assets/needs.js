// What needs a person: calls that wait for an answer, and sessions that have stalled,
// are paused, or have used up their budget. It stands above every view.

import { h, keyed, setText } from './dom.js';
import { live, onChange } from './live.js';
import { approvalCard, asks } from './approval.js';
import { title, age } from './format.js';
import { may, stop, stopCommand } from './api.js';

const recent = 10 * 60 * 1000; // how long a session that has ended over its budget is shown

const stopped = (row) => row.budget?.percent >= 100;

// asking is the command in the background that waits for input.
const asking = (row) => row.commands?.find((c) => c.waits);

// reason says why a session needs somebody; '': it does not.
function reason(row, now) {
  if (row.endedAt) return stopped(row) && row.status !== 'completed' && now - row.endedAt < recent ? 'over its budget' : '';
  if (asking(row)) return 'waits for input';
  if (row.stalled) return 'stalled';
  if (row.pause) return 'paused';
  if (stopped(row)) return 'over its budget';
  return '';
}

function detail(row, why, now) {
  if (why === 'waits for input') return `${asking(row).id}, ${asking(row).line}: ${asking(row).last}`;
  if (why === 'stalled') return `Nothing has happened for ${age(now - row.activeAt)}.`;
  if (why === 'paused') return `${row.pause.reason} It goes on in ${age(row.pause.until - now)}.`;
  const b = row.budget;
  return `${b.used} of ${b.max} ${b.limit} are used.`;
}

const said = (row, why) => (why === 'waits for input' ? `${title(row)}: a command ${why}` : `${title(row)} is ${why}`);

class Needs {
  count = 0;
  #told = new Set(); // what was announced
  #opened = ''; // the card that was gone to, as the address has it

  mount(section, counted) {
    this.section = section;
    this.counted = counted;
    this.heading = h('h2', {}, 'Needs you');
    this.list = h('div', { class: 'cards' });
    section.append(this.heading, this.list);
    onChange((change) => {
      if (change.approvals || change.rows.size || change.structure) this.render();
    });
    setInterval(() => this.render(), 1000);
    this.#notifications();
  }

  render() {
    const now = Date.now();
    const items = live.approvals.map((card) => ({ key: card.id, card }));
    for (const row of live.rows.values()) {
      const why = reason(row, now);
      if (why) items.push({ key: row.id + why + (asking(row)?.id ?? ''), row, why });
    }
    keyed(this.list, items, (item) => item.key, (item) => (item.card ? approvalCard(item.card) : this.#note(item)), (el, item) => {
      el.tick?.(now);
      if (item.row) setText(el.querySelector('.detail'), detail(item.row, item.why, now));
    });
    this.section.hidden = items.length === 0;
    this.#open();
    setText(this.heading, `Needs you (${items.length})`);
    if (this.count !== items.length) {
      this.count = items.length;
      this.counted();
    }
    this.#announce(items);
  }

  #note({ row, why }) {
    const command = why === 'waits for input' ? asking(row).id : '';
    const action = () => (command ? stopCommand(row.id, command) : stop(row.id));
    const button = h('button', { type: 'button', class: 'danger', onclick: () => action().catch((e) => alert(e.message)) }, `Stop ${command}`.trim());
    return h('article', { class: 'card note', tabIndex: 0, 'aria-label': said(row, why) },
      h('header', {}, h('a', { class: 'who', href: `/sessions/${row.id}` }, title(row)), ' ', h('span', { class: 'why' }, why),
        h('span', { class: 'grow' }), row.endedAt || !may(command ? 'owner' : 'run') ? null : button),
      h('p', { class: 'detail' }));
  }

  // #open goes to the card that the address names, once it is there.
  #open() {
    const card = location.hash.length > 1 && this.#opened !== location.hash && document.getElementById(location.hash.slice(1));
    if (!card || !this.list.contains(card)) return;
    this.#opened = location.hash;
    card.scrollIntoView({ block: 'start' });
    card.focus();
  }

  // #announce tells screen readers, and where the user wants that the desktop, of what is new.
  #announce(items) {
    const fresh = items.filter((item) => !this.#told.has(item.key));
    this.#told = new Set(items.map((item) => item.key));
    if (!fresh.length) return;
    const text = fresh.map((item) => (item.card ? `${item.card.agent || 'a caller'} ${asks(item.card)}` : said(item.row, item.why))).join('; ');
    setText(document.getElementById('announce'), text);
    if (document.hidden && globalThis.Notification?.permission === 'granted') new Notification('agentworker', { body: text, tag: 'agentworker' });
  }

  #notifications() {
    const button = document.getElementById('notify');
    if (!globalThis.Notification || Notification.permission !== 'default') return;
    button.hidden = false;
    button.addEventListener('click', async () => {
      await Notification.requestPermission();
      button.hidden = true;
    });
  }
}

export const needs = new Needs();
