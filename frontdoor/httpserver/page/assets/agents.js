// The agents of the workspace: their rules, where they are from, what is wrong with their
// files; a task or a conversation to start, and what the rules make of a call.

import { h, keyed, setText } from './dom.js';
import { go } from './router.js';
import { get, may, post, start, startTalk } from './api.js';
import { plural } from './format.js';
import { live, onChange } from './live.js';
import { move } from './keys.js';

const tools = ['read_file', 'write_file', 'edit_file', 'list_dir', 'glob', 'grep', 'shell_exec', 'task', 'network'];

export function agents() {
  const list = h('div', { class: 'list' });
  const findings = h('section', { class: 'panel', 'aria-label': 'Findings', hidden: true });
  const which = h('select', { name: 'agent', 'aria-label': 'Agent' });
  const kind = h('select', { name: 'kind', 'aria-label': 'What to start', onchange: () => offer() }, h('option', { value: 'task' }, 'Task for'), h('option', { value: 'talk' }, 'Conversation with'));
  let served = [];
  const whose = h('select', { name: 'agent', 'aria-label': 'Agent of the call' });
  const count = h('span', { class: 'totals' });
  let closed = false;
  let seen = 0;

  async function load() {
    seen = live.agents;
    try {
      const doc = await get('/page/agents');
      if (!closed) show(doc);
    } catch (e) {
      list.replaceChildren(h('p', { class: 'empty' }, e.message));
    }
  }

  function show(doc) {
    served = doc.agents ?? [];
    const all = [...served, ...(doc.unserved ?? []).map((u) => ({ ...u, source: u.file, unserved: true }))];
    setText(count, `${plural(served.length, 'agent')}${doc.folder ? ` · ${doc.folder}` : ''}`);
    keyed(list, all, (a) => a.name + a.source, agentElement, fillAgent);
    offer();
    options(whose, served.map((a) => a.name), 'no agent: permissions.jsonc alone');
    const found = [...(doc.diagnostics ?? [])].sort((a, b) => weight(a) - weight(b)); // those of a file stay together
    findings.hidden = !found.length;
    findings.replaceChildren(h('h2', {}, plural(found.length, 'finding')), ...found.map((d) =>
      h('div', { class: `finding ${d.severity}` }, h('div', {}, h('b', { class: 'severity' }, d.severity), ` ${d.message}`),
        d.fix ? h('div', {}, d.fix) : null, h('div', { class: 'place' }, `${d.file}${d.line ? `:${d.line}:${d.column}` : ''} · ${d.code}`))));
  }

  // offer lists the agents that may get a task, or be talked with.
  function offer() {
    const names = (but) => served.filter((a) => a.mode !== but).map((a) => a.name);
    if (kind.value === 'task') options(which, names('primary'));
    else options(which, names('subagent'), 'primary');
  }

  const end = onChange((change) => {
    if (change.agents && live.agents !== seen) load();
  });
  load();
  return {
    element: h('div', { class: 'agents' },
      h('div', { class: 'bar-top' }, h('h1', {}, 'Agents'), count),
      h('div', { class: 'columns' }, h('section', { class: 'panel', 'aria-label': 'Agents' }, list),
        h('div', {}, may('run') ? startPanel(kind, which) : null, findings, explainPanel(whose)))),
    title: 'Agents',
    up: () => '/',
    close() {
      closed = true;
      end();
    },
    key(name) {
      const step = { j: 1, k: -1 }[name];
      const all = [...list.querySelectorAll('.agent > summary')];
      return Boolean(step) && move(all, all.indexOf(document.activeElement), step);
    },
  };
}

// weight orders findings: what keeps an agent from being served first.
const weight = (finding) => (['error', 'warning'].indexOf(finding.severity) + 3) % 3;

function agentElement() {
  return h('details', { class: 'agent' }, h('summary', {}, h('span', { class: 'name' }), h('span', { class: 'description' }), h('span', { class: 'source' })), h('div', { class: 'more' }));
}

function fillAgent(el, agent) {
  const text = JSON.stringify(agent);
  if (el.text === text) return;
  el.text = text;
  const [name, description, source] = el.querySelector('summary').children;
  setText(name, agent.name);
  setText(description, agent.unserved ? `not served: ${agent.reason}` : agent.description);
  description.title = description.textContent;
  setText(source, [agent.source, agent.state === 'stale' ? 'stale: its file is broken' : ''].filter(Boolean).join(' · '));
  const more = el.querySelector('.more');
  if (agent.unserved) {
    more.replaceChildren(h('p', {}, agent.reason), h('p', { class: 'place' }, `${agent.file} · ${agent.code}`));
    return;
  }
  const facts = [['mode', agent.mode], ['steps', String(agent.maxSteps)], ['model', agent.model], ['shadows', agent.shadows], ['aliases', agent.aliases?.join(', ')],
    ['may', agent.may], ['seconds', agent.timeoutSeconds ? String(agent.timeoutSeconds) : '']];
  more.replaceChildren(
    h('p', {}, agent.description),
    h('div', { class: 'facts' }, facts.filter(([, v]) => v).map(([k, v]) => h('span', {}, `${k} `, h('b', {}, v)))),
    agent.permission.length ? h('table', { class: 'rules' }, h('tbody', {}, agent.permission.map((r) =>
      h('tr', {}, h('td', {}, h('code', {}, r.tool)), h('td', {}, h('code', {}, r.pattern)), h('td', { class: r.action }, r.action), h('td', { title: r.source }, short(r.source)))))) : h('p', {}, 'No rules of its own.'),
    h('details', {}, h('summary', {}, 'Prompt'), h('pre', {}, agent.prompt || 'none')));
}

// options makes the options of a select those of names, first first, whose value is empty.
function options(select, names, first) {
  const chosen = select.value;
  select.replaceChildren(...(first ? [h('option', { value: '' }, first)] : []), ...names.map((n) => h('option', { value: n, selected: n === chosen }, n)));
}

function startPanel(kind, which) {
  const prompt = h('textarea', { name: 'prompt', rows: '3', placeholder: 'What is to be done?', 'aria-label': 'Prompt', required: true });
  const note = h('p', { class: 'label', role: 'status' });
  const button = h('button', { class: 'good' }, 'Start');
  const form = h('form', { class: 'start' }, h('div', { class: 'line' }, kind, which), prompt, h('div', {}, button), note);
  form.addEventListener('submit', async (ev) => {
    ev.preventDefault();
    button.disabled = true;
    setText(note, '');
    try {
      const answer = await (kind.value === 'task' ? start : startTalk)(which.value, prompt.value);
      go(`/sessions/${encodeURIComponent(answer.sessionId)}`);
    } catch (e) {
      setText(note, e.message);
    }
    button.disabled = false;
  });
  return h('section', { class: 'panel', 'aria-label': 'Start' }, h('h2', {}, 'Start a task, or a conversation'), form);
}

function explainPanel(whose) {
  const tool = h('select', { name: 'tool', 'aria-label': 'Tool' }, tools.map((t) => h('option', { value: t, selected: t === 'shell_exec' }, t)));
  const arg = h('input', { type: 'text', name: 'arg', placeholder: 'a path, a command, or {"…"}', 'aria-label': 'What the call is about', autocomplete: 'off' });
  const answer = h('div', { class: 'answer', role: 'status' });
  const form = h('form', {}, h('div', { class: 'line' }, tool, whose), h('div', { class: 'line' }, arg, h('button', {}, 'Explain')), answer);
  form.addEventListener('submit', async (ev) => {
    ev.preventDefault();
    try {
      explained(answer, await post('/page/explain', { agent: whose.value, tool: tool.value, arg: arg.value }));
    } catch (e) {
      answer.replaceChildren(h('p', { class: 'bad' }, e.message));
    }
  });
  return h('section', { class: 'panel', 'aria-label': 'Explain a call' }, h('h2', {}, 'What do the rules say?'), form);
}

const short = (source) => (source ?? '').replace(/^.*[\\/](?=permissions\.jsonc)/, '');

// explained shows the values that have a say, the one that decides first.
function explained(answer, doc) {
  const values = (doc.values ?? []).filter((v) => v.action !== 'none').sort((a, b) => b.decides - a.decides);
  const rows = values.flatMap((v) => [
    h('tr', { class: 'value' }, h('td', {}, h('code', {}, v.tool)), h('td', {}, h('code', {}, v.text)), h('td', { class: v.action }, v.action), h('td', {}, v.decides ? 'decides' : '')),
    ...(v.matches ?? []).map((m) => h('tr', {}, h('td'), h('td', {}, `${m.wins ? '→ ' : ''}${m.tool}: `, h('code', {}, m.pattern)), h('td', { class: m.action }, m.action), h('td', { title: m.source }, short(m.source)))),
  ]);
  answer.replaceChildren(h('p', {}, h('b', { class: doc.action }, doc.action), ` ${doc.reason}`), h('table', { class: 'rules' }, h('tbody', {}, rows)));
}
