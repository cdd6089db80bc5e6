// One session: where it stands in its tree, what it does and has done.

import { h, keyed, setText, setClass } from './dom.js';
import { go } from './router.js';
import { live, onChange, path, used } from './live.js';
import { age, cost, tokens, state, title, clock } from './format.js';
import { apply, background, changes, discard, erase, may, revert, say, send, stop, stopCommand, summarise } from './api.js';
import { Tree } from './tree.js';
import { transcript } from './transcript.js';
import { timeline } from './timeline.js';

const kinds = { '+': 'add', '-': 'del', '@': 'at' };
const link = (id) => `/sessions/${encodeURIComponent(id)}`;

export function session(id) {
  const crumbs = h('nav', { class: 'crumbs', 'aria-label': 'Where it stands' });
  const name = h('h1');
  const task = h('span', { class: 'what-for' });
  const pill = h('span', { class: 'pill' });
  const facts = h('div', { class: 'facts' });
  const problem = h('p', { class: 'problem', hidden: true });
  const warned = h('p', { class: 'warned', role: 'note', 'aria-label': 'Warnings', hidden: true });
  const stopButton = h('button', { type: 'button', class: 'danger', onclick: () => attempt(stopButton, () => stop(id)) }, 'Stop');
  const backgroundButton = h('button', { type: 'button', title: 'Its caller goes on, and is told when it has ended', onclick: () => attempt(backgroundButton, () => background(id)) }, 'To the background');
  const commandButton = h('button', { type: 'button', title: 'The command goes on in the background of the session, whose model does other work meanwhile', onclick: () => attempt(commandButton, () => background(id, true)) }, 'Command to the background');
  const applyButton = h('button', { type: 'button', title: 'Its changes are brought to the files of the workspace', onclick: () => attempt(applyButton, async () => report(await apply(id))) }, 'Apply its changes');
  const discardButton = h('button', { type: 'button', class: 'danger', onclick: () => confirm('Throw away all that it has changed in its worktree?') && attempt(discardButton, async () => report(await discard(id))) }, 'Discard them');
  const revertButton = h('button', { type: 'button', title: 'Shows what its file tools have changed, and asks', onclick: () => attempt(revertButton, showChanges) }, 'Undo its changes');
  const undo = h('section', { class: 'undo', 'aria-label': 'What it has changed', hidden: true });
  const deleteButton = h('button', { type: 'button', class: 'danger', title: 'With its subagents, and all that is stored of them', onclick: () => confirm('Delete this session for good, with its subagents and all that is stored of them?') && attempt(deleteButton, remove) }, 'Delete');
  const summaryButton = h('button', { type: 'button', title: 'In a few sentences, by one call of a model', onclick: () => attempt(summaryButton, async () => setText(note, (await summarise(id)).text)) }, 'Summary');
  const commands = h('ul', { class: 'commands', 'aria-label': 'Commands in the background', hidden: true });
  const note = h('p', { class: 'label', role: 'status' });
  const message = h('textarea', { rows: '1', 'aria-label': 'Message to the session' });
  const sendForm = h('form', { class: 'sending' }, message, h('button', {}, 'Send'));
  message.addEventListener('keydown', (ev) => {
    if (ev.key !== 'Enter' || ev.shiftKey || ev.isComposing) return;
    ev.preventDefault();
    sendForm.requestSubmit();
  });
  const below = new Tree({ top: id, open: (child) => go(link(child)), label: 'Subagents', most: 12 });
  below.element.classList.add('alone');
  const subagents = h('section', { 'aria-label': 'Subagents', hidden: true }, below.element);

  let view = null;
  const panel = h('div', { role: 'tabpanel', id: 'panel', 'aria-label': 'Transcript' });
  const tab = (text, make, hash) => h('button', { type: 'button', role: 'tab', 'aria-selected': 'false', 'aria-controls': 'panel', onclick: (ev) => { history.replaceState(null, '', location.pathname + hash); show(ev.currentTarget, make); } }, text);
  const first = tab('Transcript', transcript, '');
  const second = tab('Timeline', timeline, '#timeline');
  const other = (ev) => {
    if (ev.key !== 'ArrowLeft' && ev.key !== 'ArrowRight') return;
    const to = ev.target === first ? second : first;
    to.click();
    to.focus();
    ev.preventDefault();
  };
  const file = (format, text) => h('a', { href: `/v1/sessions/${encodeURIComponent(id)}/export?format=${format}`, download: '' }, text);
  const tabs = h('div', { class: 'tabs' }, h('div', { role: 'tablist', onkeydown: other }, first, second),
    h('span', { class: 'links' }, h('a', { href: '#error', onclick: (ev) => { ev.preventDefault(); error(); } }, 'first error'), file('md', 'Markdown'), file('jsonl', 'JSONL')));

  function show(button, make) {
    for (const b of [first, second]) {
      b.setAttribute('aria-selected', b === button);
      b.tabIndex = b === button ? 0 : -1;
    }
    panel.setAttribute('aria-label', button.textContent);
    view?.close();
    view = make(id);
    panel.replaceChildren(view.element);
  }
  const error = () => view.firstError?.() || setText(note, 'No call has failed.');

  // report says what was done with the worktree.
  function report(done) {
    const conflicts = (done.conflicts ?? []).map((c) => `${c.path} (${c.reason})`).join(', ');
    const kept = done.status === 'conflicts' && done.files?.length ? `These files are undone, and could not be put back: ${done.files.join(', ')}. The others are not, there are conflicts` : 'Nothing was changed, there are conflicts';
    setText(note, conflicts ? `${kept}: ${conflicts}` : [done.status, done.diffstat, done.kept].filter(Boolean).join(': '));
  }

  // showChanges shows what the session has changed in files, and offers to undo it.
  async function showChanges() {
    const { files, omitted, untold } = await changes(id);
    const open = files.filter((f) => !f.undone && !f.why);
    const lost = files.filter((f) => f.why);
    if (!open.length && !lost.length) {
      undo.hidden = true;
      setText(note, files.length ? 'All its changes of files are undone.' : 'Its file tools have changed no file.');
      return;
    }
    const others = open.filter((f) => f.conflict);
    const force = h('input', { type: 'checkbox', onchange: () => { sure.disabled = !force.checked; } });
    const sure = h('button', { type: 'button', class: 'danger', disabled: others.length > 0, onclick: () => attempt(sure, async () => {
      const done = await revert(id, open.map((f) => ({ path: f.path, now: f.now })), others.length > 0 && force.checked);
      if (done.status === 'conflicts') return report(done);
      undo.hidden = true;
      setText(note, `Undone: ${done.files.join(', ')}`);
    }) }, `Undo ${open.length === 1 ? 'this file' : `these ${open.length} files`}`);
    undo.replaceChildren(...[
      ...open.flatMap((f) => [
        h('h3', {}, f.path),
        f.conflict && h('p', { class: 'warned' }, f.conflict),
        f.diff ? h('div', { class: 'diff' }, f.diff.trimEnd().split('\n').slice(2).map((line) => h('div', { class: kinds[line[0]] ?? '' }, line))) : h('p', { class: 'label' }, 'The difference is no text, or long.'),
      ]),
      ...lost.flatMap((f) => [h('h3', {}, f.path), h('p', { class: 'warned' }, `It can't be undone: ${f.why}`)]),
      omitted && h('p', { class: 'label' }, `${omitted} more ${omitted === 1 ? 'file is' : 'files are'} not shown.`),
      untold && h('p', { class: 'label' }, `Nothing is kept of what ${untold === 1 ? 'a call' : `${untold} calls`} of commands may have changed: that is not undone.`),
      others.length && h('label', {}, force, ' Undo the later changes of others in these files, too'),
      open.length && sure, h('button', { type: 'button', onclick: () => { undo.hidden = true; } }, open.length ? 'Keep them' : 'Close'),
    ].filter(Boolean));
    undo.hidden = false;
  }

  async function attempt(button, action) {
    button.disabled = true;
    setText(note, '');
    try {
      await action();
    } catch (e) {
      setText(note, e.message);
    }
    button.disabled = false;
  }

  // remove deletes the session, and leads to where it was called.
  async function remove() {
    const above = row.parentId ? link(row.parentId) : '/';
    await erase(id);
    go(above);
  }
  sendForm.addEventListener('submit', (ev) => {
    ev.preventDefault();
    const text = message.value.trim();
    if (!text) return;
    attempt(sendForm.lastChild, async () => {
      const to = talks() ? await say(id, text) : await send(id, text);
      message.value = '';
      if (to.sessionId !== id) go(link(to.sessionId));
      else setText(note, !talks() || row.doing !== 'idle' ? 'It reads this before its next step.' : '');
    });
  });
  // talks says that the session is a conversation with a person.
  const talks = () => Boolean(row?.agent && !row.parentId);

  const actions = [summaryButton, applyButton, discardButton, revertButton, deleteButton, commandButton, backgroundButton, stopButton];
  const fact = (label, value) => (value ? h('span', {}, `${label} `, h('b', {}, value)) : null);
  let row = null;

  function draw(structure) {
    row = live.rows.get(id);
    if (!row) {
      for (const el of [...actions, sendForm]) el.hidden = true;
      setText(name, live.loaded ? 'There is no such session among the newest.' : 'Loading.');
      return;
    }
    if (structure) {
      drawCrumbs();
      const before = subagents.hidden;
      subagents.hidden = !live.children.get(id)?.length;
      if (before && !subagents.hidden) below.layout();
    }
    const now = state(row);
    setText(name, title(row));
    setText(task, row.label ?? '');
    setText(pill, now.text);
    setClass(pill, `pill ${now.name}`);
    stopButton.hidden = Boolean(row.endedAt) || !may('run');
    backgroundButton.hidden = Boolean(row.endedAt || row.background || !row.parentId) || !may('run');
    commandButton.hidden = !row.waitsFor || !may('run');
    applyButton.hidden = discardButton.hidden = !row.endedAt || !row.worktree || !may('run');
    summaryButton.hidden = !row.endedAt || !row.agent || !may('run');
    revertButton.hidden = Boolean(!row.endedAt || !row.agent || row.worktree) || !may('owner'); // a worktree is discarded as a whole
    deleteButton.hidden = !row.endedAt || !may('owner');
    sendForm.hidden = !row.agent || !may('run');
    message.placeholder = !talks() ? (row.endedAt ? 'A message, and it goes on' : 'A message that it reads before its next step') : row.endedAt ? 'Say something, and the conversation goes on' : row.doing === 'idle' ? 'Say something' : 'A message that it reads before its next step';
    problem.hidden = !row.error;
    setText(problem, row.error ?? '');
    warned.hidden = !row.warnings?.length;
    setText(warned, (row.warnings ?? []).join('\n'));
    drawCommands();
    const b = row.budget;
    facts.replaceChildren(...[
      fact('model', row.model), fact('steps', String(row.steps)),
      fact('tool calls', row.calls ? `${row.calls}${row.failed ? `, ${row.failed} failed` : ''}` : ''),
      fact('tokens', tokens(row.usage)), fact('cost', cost(row.usage)), ...total(id), b && fact('budget', `${b.used} of ${b.max} ${b.limit}`),
      fact('began', clock(row.startedAt || row.createdAt)),
      fact(row.endedAt ? 'took' : 'for', age((row.endedAt || Date.now()) - (row.startedAt || row.createdAt))),
      row.endedAt ? null : fact('last event', `${age(Date.now() - row.activeAt)} ago`), fact('now', row.tool), fact('list', row.todo),
      fact('reviews', (row.reviews ?? []).join('\n')), fact('branch', row.worktree), fact('id', row.id),
    ].filter(Boolean));
  }

  // drawCommands shows the commands in the background: what runs, since when, its last line.
  function drawCommands() {
    const list = row.endedAt ? [] : row.commands ?? [];
    commands.hidden = !list.length;
    keyed(commands, list, (c) => c.id, (c) => {
      const button = h('button', { type: 'button', class: 'danger', hidden: !may('owner'), onclick: () => attempt(button, () => stopCommand(id, c.id)) }, 'Stop');
      return h('li', {}, h('span', { class: 'id' }), h('code', { class: 'line' }), h('span', { class: 'state' }), button, h('span', { class: 'last' }));
    }, (el, c) => {
      setText(el.querySelector('.id'), c.id);
      setText(el.querySelector('.line'), c.line);
      setText(el.querySelector('.state'), `${c.waits ? 'waits for input, ' : ''}runs for ${age(Date.now() - c.since)}`);
      el.classList.toggle('waits', Boolean(c.waits));
      el.querySelector('button').setAttribute('aria-label', `Stop ${c.id}`);
      setText(el.querySelector('.last'), c.last ?? '');
    });
  }

  // total is what a session and those below it have used, where there are any.
  function total(id) {
    const { sessions, usage } = used(id);
    if (sessions === 1) return [];
    return [fact(`with ${sessions - 1} subagent${sessions === 2 ? '' : 's'}`, [tokens(usage), cost(usage)].filter(Boolean).join(' · '))];
  }

  function drawCrumbs() {
    const rows = path(id);
    const parts = [h('a', { href: '/' }, 'All')];
    for (const r of rows.slice(0, -1)) parts.push('›', h('a', { href: link(r.id) }, r.agent || r.label || 'caller'));
    parts.push('›');
    const among = siblings();
    if (among.length > 1) {
      const pick = h('select', { 'aria-label': 'Siblings', onchange: () => go(link(pick.value)) },
        among.map((s, i) => h('option', { value: s, selected: s === id }, `${title(live.rows.get(s))} (${i + 1} of ${among.length})`)));
      parts.push(pick);
    } else parts.push(h('span', {}, title(row)));
    crumbs.replaceChildren(...parts);
  }

  const siblings = () => (row?.parentId ? live.children.get(row.parentId) ?? [] : [id]);
  const end = onChange((change) => {
    if (change.structure || change.rows.has(id)) draw(change.structure);
  });
  const timer = setInterval(() => row && !row.endedAt && draw(false), 1000);
  draw(true);
  if (location.hash === '#timeline') show(second, timeline);
  else show(first, transcript);

  return {
    element: h('article', { class: 'session' }, crumbs, h('div', { class: 'session-head' }, name, pill, task, h('span', { class: 'grow' }), actions),
      facts, commands, problem, warned, undo, subagents, tabs, panel, sendForm, note),
    title: 'Session',
    up: () => (row?.parentId ? link(row.parentId) : '/'),
    close() {
      end();
      clearInterval(timer);
      below.close();
      view.close();
    },
    key(key) {
      if (key === 'e') {
        error();
        return true;
      }
      const step = { '[': -1, ']': 1 }[key];
      if (!step) return below.key(key);
      const among = siblings();
      const next = among[among.indexOf(id) + step];
      if (next) go(link(next));
      return true;
    },
  };
}
