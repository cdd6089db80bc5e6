// A question that an agent itself asks: its own words, and a form for the answer.

import { h, pieces, setText } from './dom.js';
import { answerApproval, answerQuestion, may } from './api.js';
import { age } from './format.js';

// settle is how long a card takes no answer: it may have come under the pointer.
const settle = 500;

// field is what is typed or chosen. It has at most one answer without multiple.
function field(card) {
  const { options, multiple } = card.ask;
  if (!options.length) {
    const text = h('textarea', { name: 'answer', rows: '2', 'aria-label': 'Your answer' });
    return { el: text, values: () => [text.value.trim()].filter(Boolean) };
  }
  const inputs = options.map((option) => {
    const input = h('input', { type: multiple ? 'checkbox' : 'radio', name: `answer-${card.id}` });
    input.value = option;
    return input;
  });
  const el = h('fieldset', { class: 'options' }, h('legend', {}, multiple ? 'Choose one or more' : 'Choose one'),
    inputs.map((input, i) => h('label', {}, input, ' ', options[i])));
  return { el, values: () => inputs.filter((input) => input.checked).map((input) => input.value) };
}

export function questionCard(card, crumbs) {
  const status = h('p', { class: 'status', role: 'status' });
  const answer = field(card);
  const send = h('button', { class: 'good', disabled: true }, 'Answer');
  const decline = h('button', { type: 'button', class: 'danger', 'data-answer': 'deny', disabled: true, onclick: () => refuse() }, 'No answer… ', h('kbd', {}, 'n'));
  const reason = h('input', { type: 'text', name: 'reason', placeholder: 'Why not? The model reads it. (Enter sends)', 'aria-label': 'Reason, which the model reads', autocomplete: 'off' });
  const why = h('form', { class: 'feedback', hidden: true }, reason, h('button', { class: 'danger' }, 'Send'));
  const form = h('form', { class: 'question' }, answer.el, h('div', { class: 'answers' }, send, decline, status));

  async function give(request) {
    send.disabled = decline.disabled = true;
    setText(status, 'sending');
    try {
      await request();
      setText(status, 'answered');
    } catch (e) {
      setText(status, e.message);
      send.disabled = decline.disabled = false;
    }
  }
  function refuse() {
    why.hidden = false;
    reason.focus();
  }
  form.addEventListener('submit', (ev) => {
    ev.preventDefault();
    const values = answer.values();
    if (values.length) give(() => answerQuestion(card.id, values));
    else setText(status, 'There is no answer yet.');
  });
  why.addEventListener('submit', (ev) => {
    ev.preventDefault();
    give(() => answerApproval(card.id, 'deny', reason.value.trim()));
  });

  const expires = h('span', { class: 'expires' });
  const el = h('article', { id: card.id, class: 'card approval', tabIndex: 0, 'aria-label': `${card.agent || 'A caller'} asks a question` },
    h('header', {}, h('span', { class: 'who' }, crumbs), ' asks a question ', h('span', { class: 'grow' }), expires),
    h('blockquote', { class: 'asked' }, pieces(card.ask.question)),
    card.ask.default ? h('p', { class: 'label' }, 'Without an answer this holds: ', h('code', {}, card.ask.default)) : null,
    card.leftOut ? h('p', { class: 'cut' }, card.leftOut) : null,
    may('approve') ? form : h('p', { class: 'label' }, 'Somebody else answers this: your login has not the scope “approve”.'),
    why, h('p', { class: 'label' }, card.ask.note));
  setTimeout(() => {
    send.disabled = decline.disabled = false;
  }, settle);
  el.tick = (now) => setText(expires, `for ${age(now - card.createdAt)}, over in ${age(card.expiresAt - now)}`);
  return el;
}
