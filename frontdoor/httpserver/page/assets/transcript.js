// What a session was told, did and said; and, at its end, what it says held against
// what it has done.

import { difference, h, keyed, pieces, setClass, setMarkdown, setText } from './dom.js';
import { get, pace } from './api.js';
import { onChange } from './live.js';
import { clock, plural } from './format.js';

const again = 1000; // a transcript is asked for once in so many ms at most
const most = 1000; // blocks that are shown

export function transcript(id) {
  const omitted = h('p', { class: 'empty', hidden: true });
  const blocks = h('div', { class: 'blocks' });
  const final = h('div');
  const element = h('div', {}, omitted, blocks, final);
  let closed = false;
  let busy = false;
  let stale = false;
  let have = []; // the blocks that are shown
  let omits = false;

  async function load() {
    if (closed || busy) {
      stale = true;
      return;
    }
    busy = true;
    stale = false;
    const begun = performance.now();
    try {
      const after = complete();
      show(await get(`/page/sessions/${encodeURIComponent(id)}${after ? `?after=${encodeURIComponent(after)}` : ''}`));
    } catch (e) {
      if (!have.length) blocks.replaceChildren(h('p', { class: 'empty' }, e.message));
    }
    setTimeout(() => {
      busy = false;
      if (stale) load();
    }, pace(again, begun));
  }

  // complete is the key of the last block that, with all before it, does not change any more.
  function complete() {
    const at = have.findIndex((b) => b.open);
    return (at < 0 ? have.at(-1) : have[at - 1])?.key ?? '';
  }

  function show(t) {
    if (closed) return;
    const kept = t.after ? have.findIndex((b) => b.key === t.after) + 1 : 0;
    have = [...have.slice(0, kept), ...t.blocks];
    omits ||= t.omitted > 0 || have.length > most;
    have = have.slice(-most);
    omitted.hidden = !omits;
    if (omits) setText(omitted, 'What was before this is not shown: the export has all.');
    const groups = group(have);
    if (!groups.length && !blocks.childElementCount) blocks.replaceChildren(h('p', { class: 'empty' }, t.session.agent ? 'Nothing was said yet.' : 'This session stands for a caller. What it has called is below it.'));
    keyed(blocks, groups, (g) => g.key, (g) => (g.calls ? callsElement() : blockElement(g)), (el, g) => (g.calls ? fillCalls(el, g.calls) : fillBlock(el, g)));
    if (t.final && !final.childElementCount) final.replaceChildren(finalCard(t.final));
  }

  const end = onChange((change) => {
    if (change.rows.has(id)) load();
  });
  load();
  return {
    element,
    close() {
      closed = true;
      end();
    },
    firstError() {
      const el = blocks.querySelector('.call.error');
      if (!el) return false;
      el.closest('.calls').open = true;
      el.open = true;
      el.classList.add('shown');
      el.scrollIntoView({ block: 'center' });
      el.querySelector('summary').focus();
      return true;
    },
  };
}

// group folds the calls that follow each other into one.
function group(blocks) {
  const groups = [];
  for (const b of blocks) {
    const before = groups[groups.length - 1];
    if (b.kind !== 'tool') groups.push(b);
    else if (before?.calls) before.calls.push(b);
    else groups.push({ key: `calls-${b.key}`, calls: [b] });
  }
  return groups;
}

function blockElement(block) {
  const by = h('div', { class: 'by' }, h('span', {}, block.kind === 'user' ? 'told' : 'says'), h('span', {}, block.at ? clock(block.at) : ''));
  const reasoning = h('details', { class: 'note', hidden: true }, h('summary', {}, 'Reasoning'), h('pre'));
  const text = h('div', { class: 'markdown' });
  return h('div', { class: `block ${block.kind}` }, by, reasoning, text, (block.images ?? []).map(imageElement));
}

function imageElement({ src, alt, width, height }) {
  return h('img', { class: 'picture', src, alt, title: alt, loading: 'lazy', width, height });
}

function fillBlock(el, block) {
  if (el.block === block) return;
  el.block = block;
  if (el.html !== block.html) {
    el.html = block.html;
    setMarkdown(el.querySelector('.markdown'), block.html ?? '');
  }
  const reasoning = el.querySelector('details');
  reasoning.hidden = !block.reasoning;
  if (block.reasoning) setText(reasoning.querySelector('pre'), block.reasoning);
}

function callsElement() {
  return h('details', { class: 'calls', open: true }, h('summary', {}, h('span')), h('div', { class: 'list' }));
}

function fillCalls(el, calls) {
  if (el.calls?.length === calls.length && calls.every((c, i) => c === el.calls[i])) return;
  el.calls = calls;
  const failed = calls.filter((c) => c.call.error).length;
  const open = calls.filter((c) => c.open).length;
  const edits = calls.filter((c) => c.call.diff && !c.call.error).length;
  setText(el.querySelector('summary span'), [plural(calls.length, 'tool call'), edits && plural(edits, 'edit'), failed && `${failed} failed`, open && `${open} running`].filter(Boolean).join(' · '));
  keyed(el.querySelector('.list'), calls, (c) => c.key, callElement, fillCall);
}

function callElement({ call }) {
  const body = h('div', { class: 'body' });
  const el = h('details', { class: 'call', open: Boolean(call.diff) }, h('summary', {}, h('code', {}, call.about), h('span', { class: 'outcome' })), body);
  if (call.diff) body.append(difference(call.diff, call.about));
  else body.append(h('dl', { class: 'arguments' }, call.arguments.map((a) => [h('dt', {}, a.name), h('dd', {}, h('pre', {}, pieces(a.text)))])));
  body.append(h('pre', { class: 'result', hidden: true }));
  return el;
}

function fillCall(el, { call, open }) {
  setClass(el, call.error ? 'call error' : 'call');
  setText(el.querySelector('.outcome'), open ? 'running' : call.error ? 'failed' : 'done');
  const result = el.querySelector('.result');
  if (open || el.filled) return;
  el.filled = true;
  result.hidden = false;
  result.replaceChildren(...pieces(call.result ?? []), call.cut ? '\n… more is not shown' : '');
  result.after(...(call.images ?? []).map(imageElement));
}

function finalCard({ claims, notes, work }) {
  const list = (items) => (items.length ? h('ul', {}, items) : null);
  const mark = (ok) => h('span', { class: ok ? 'ok' : 'bad' }, ok ? '✓ ' : '✗ ');
  const calls = `${plural(work.toolCalls ?? 0, 'tool call')}${work.failed ? `, ${work.failed} failed` : ''}${work.denied ? `, ${work.denied} denied` : ''}`;
  const files = (work.files ?? []).map((f) => h('li', {}, h('code', {}, f.path), f.before ? ' changed' : ' new'));
  const checks = (work.checks ?? []).map((c) => h('li', {}, mark(c.ok), h('code', {}, c.path || c.command), c.ok ? '' : h('pre', {}, c.output ?? '')));
  const evidence = (work.evidence ?? []).map((e) => h('li', {}, mark(e.found), h('code', {}, `${e.path}:${e.line}`), e.found ? '' : ` ${e.why}`));
  return h('div', { class: 'final', role: 'group', 'aria-label': 'What is claimed, and what was done' },
    h('section', {}, h('h2', {}, 'Claimed'), claims.length ? claims.map((c) => [h('h3', {}, c.title), setMarkdown(h('div', { class: 'markdown' }), c.html)]) : h('p', {}, 'Nothing.')),
    h('section', {}, h('h2', {}, 'Done'), h('p', {}, calls),
      notes.map((n) => h('p', { class: 'bad' }, n)),
      files.length ? h('h3', {}, 'Files') : null, list(files),
      work.omitted ? h('p', {}, `and ${work.omitted} more change${work.omitted === 1 ? '' : 's'}`) : null,
      work.untold ? h('p', {}, `${plural(work.untold, 'shell command')} may have changed more.`) : null,
      checks.length ? h('h3', {}, 'Checks') : null, list(checks),
      evidence.length ? h('h3', {}, 'Evidence') : null, list(evidence)));
}
