// The keyboard. Letters are keys where nobody types.

import { go } from './router.js';

const typing = (el) => el.closest?.('input, textarea, select, [contenteditable]');

// native says that an element does something by itself when a key is pressed on it.
const native = (el, key) => (key === 'Enter' || key === ' ') && el.closest?.('button, a, summary');

const steps = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };

// move focuses the next of some elements, or the one before: what it returns says whether there is one.
export function move(elements, at, step) {
  const next = elements[at < 0 ? 0 : Math.min(elements.length - 1, Math.max(0, at + step))];
  next?.focus();
  return Boolean(next);
}

// press does what a key stands for: in a card that is focused, in the view, anywhere.
export function press(ev, view) {
  if (ev.ctrlKey || ev.metaKey || ev.altKey || document.querySelector('dialog[open]')) return;
  if (typing(ev.target)) {
    if (ev.key === 'Escape') ev.target.blur();
    return;
  }
  if (native(ev.target, ev.key)) return;
  const card = document.activeElement?.closest?.('.card');
  const cards = [...document.querySelectorAll('.needs .card')];
  const button = card && { y: 'once', A: 'always', n: 'deny' }[ev.key];
  if (button) {
    const el = card.querySelector(`[data-answer=${button}]`);
    if (el && !el.disabled) el.click();
    ev.preventDefault();
    return;
  }
  if (ev.key === 'n') {
    cards[(cards.indexOf(card) + 1) % cards.length]?.focus();
  } else if (card && ev.target === card && steps[ev.key]) {
    move(cards, cards.indexOf(card), steps[ev.key]);
  } else if (card && ev.target === card && ev.key === 'Enter') {
    card.querySelector('.who a:last-of-type, a.who')?.click();
  } else if (ev.key === '?') {
    document.getElementById('help').showModal();
  } else if (ev.key === 'Escape') {
    if (card) document.getElementById('view').focus();
    else if (view?.up) go(view.up());
  } else if (!view?.key?.(ev.key, ev)) {
    return;
  }
  ev.preventDefault();
}
