// A tool call that waits for an answer: all of it, and what "always" would mean.

import { difference, h, pieces, setText } from './dom.js';
import { answerApproval, may } from './api.js';
import { live } from './live.js';
import { age } from './format.js';
import { questionCard } from './question.js';

// settle is how long a card takes no answer: it may have come under the pointer.
const settle = 500;

const rulesFile = document.querySelector('meta[name=rules-file]').content;

// Questions that are no calls which a model has made: what the answers are called.
const questions = {
  plan_exit: { once: 'Carry it out', deny: 'Go on planning…', why: 'What is wrong with it? The model reads it. (Enter sends)' },
  budget: { once: 'Let it use as much again', deny: 'No more…', why: 'Why not? (Enter sends)' },
};

// asks says in a few words what a card is about.
export const asks = (card) => (card.ask ? 'asks a question' : `asks to ${card.title}`);

// path links the sessions from the root down to the one that asks.
function path(card) {
  const names = card.path.map((hop) => {
    const row = live.rows.get(hop.sessionId);
    return h('a', { href: `/sessions/${hop.sessionId}` }, hop.agentType || row?.label || 'caller');
  });
  return names.flatMap((a, i) => (i ? [' › ', a] : [a]));
}

export function approvalCard(card) {
  if (card.ask) return questionCard(card, path(card));
  const question = questions[card.tool];
  const status = h('p', { class: 'status', role: 'status' });
  const reason = h('input', { type: 'text', name: 'reason', placeholder: question?.why ?? 'Why not? The model reads it. (Enter sends)', 'aria-label': 'Reason, which the model reads', autocomplete: 'off' });
  const why = h('form', { class: 'feedback', hidden: true }, reason, h('button', { class: 'danger' }, question ? 'Send' : 'Deny'));
  const buttons = [];
  const button = (answer, label, key, kind) => {
    const el = h('button', { type: 'button', class: kind, 'data-answer': answer, disabled: true, onclick: () => choose(answer) }, label, ' ', h('kbd', {}, key));
    buttons.push(el);
    return el;
  };

  async function give(answer, feedback) {
    for (const b of buttons) b.disabled = true;
    setText(status, 'sending');
    try {
      await answerApproval(card.id, answer, feedback);
      setText(status, 'answered');
    } catch (e) {
      setText(status, e.message);
      for (const b of buttons) b.disabled = false;
    }
  }
  function choose(answer) {
    if (answer !== 'deny') return give(answer);
    why.hidden = false;
    reason.focus();
  }
  why.addEventListener('submit', (ev) => {
    ev.preventDefault();
    give('deny', reason.value.trim());
  });

  const crumbs = path(card);
  const expires = h('span', { class: 'expires' });
  const el = h('article', { id: card.id, class: 'card approval', tabIndex: 0, 'aria-label': `${card.agent || 'A caller'} ${asks(card)}` },
    h('header', {}, h('span', { class: 'who' }, crumbs), ` ${asks(card)} `, h('code', {}, card.tool), h('span', { class: 'grow' }), expires),
    h('p', { class: 'reason' }, card.reason),
    card.for ? h('p', { class: 'label' }, `Asked for by ${card.for}.`) : null,
    h('dl', { class: 'arguments' }, card.parts.map((p) => [h('dt', {}, p.name), h('dd', {}, p.diff ? difference(p.diff, p.name) : h('pre', { tabIndex: 0 }, pieces(p.text ?? [])))])),
    seen(card),
    question && !card.leftOut || !may('owner') ? null : always(card),
    may('approve') ? h('div', { class: 'answers' },
      button('once', question?.once ?? 'Approve once', 'y', 'good'),
      card.always.length && !question && may('owner') ? button('always', 'Always', 'A', '') : null,
      button('deny', question?.deny ?? 'Deny…', 'n', 'danger'), status) : h('p', { class: 'label' }, 'Somebody else answers this: your login has not the scope “approve”.'),
    why);
  setTimeout(() => {
    for (const b of buttons) b.disabled = false;
  }, settle);
  el.tick = (now) => setText(expires, `for ${age(now - card.createdAt)}, denied in ${age(card.expiresAt - now)}`);
  return el;
}

// seen is what the rules see of the call, where that is not what is shown anyway.
function seen(card) {
  if (!card.wants.length) return null;
  return h('div', { class: 'wants' }, h('span', { class: 'label' }, 'Rules see'), h('ul', {}, card.wants.map((w) => h('li', {}, h('code', {}, w)))));
}

function always(card) {
  if (card.leftOut) return h('p', { class: 'cut' }, `${card.leftOut} So there is no “always”.`);
  if (!card.always.length) return h('p', { class: 'label' }, 'There is no “always”: no rule for calls like this one would let it through.');
  return h('div', { class: 'always' },
    h('p', {}, '“Always” adds to ', h('code', { title: rulesFile }, rulesFile.replace(/^.*[\\/]/, ''))),
    h('ul', {}, card.always.map((line) => h('li', {}, h('code', {}, line)))),
    h('p', {}, 'for all agents of this workspace whose own rules do not deny it, from now on. Calls that wait and match are let through too.'));
}
