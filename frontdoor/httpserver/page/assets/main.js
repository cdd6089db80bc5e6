// The page: which view an address has, and what all views share.

import { h, setText } from './dom.js';
import { live, connect, onChange } from './live.js';
import { needs } from './needs.js';
import { press } from './keys.js';
import { route } from './router.js';
import { overview } from './overview.js';
import { session } from './session.js';
import { agents } from './agents.js';

const workspace = document.querySelector('meta[name=workspace]').content;
const main = document.getElementById('view');
let view = null; // {element, close, title, key(name), up}

const routes = [
  [/^\/$/, () => overview()],
  [/^\/sessions\/([\w-]+)$/, session],
  [/^\/agents$/, agents],
];

function show() {
  view?.close?.();
  const [pattern, make] = routes.find(([p]) => p.test(location.pathname)) ?? [/^/, () => ({ element: h('p', { class: 'empty' }, 'There is no such page.'), title: '?' })];
  view = make(...(location.pathname.match(pattern) ?? []).slice(1).map(decodeURIComponent));
  main.replaceChildren(view.element);
  for (const a of document.querySelectorAll('header nav a')) {
    const here = (a.dataset.page === 'agents') === location.pathname.startsWith('/agents');
    if (here) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
  name();
}

function name() {
  const n = needs.count;
  document.title = `${n ? `(${n}) ` : ''}${view?.title ? `${view.title} · ` : ''}${workspace}`;
}

addEventListener('keydown', (ev) => press(ev, view));

const help = document.getElementById('help');
document.getElementById('keys').addEventListener('click', () => help.showModal());

const connection = document.getElementById('connection');
onChange((change) => {
  if (change.connection) {
    setText(connection, live.connected ? 'live' : 'reconnecting');
    connection.dataset.on = live.connected;
  }
  name();
});

needs.mount(document.getElementById('needs'), name);
route(show);
connect();
