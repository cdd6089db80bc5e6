// The keyboard. Letters are keys where nobody types.

const typing = (el) => el.closest?.('input, textarea, select, [contenteditable]');

// press does what a key stands for: in a card that is focused, in the view, anywhere.
export function press(ev, view, go) {
  if (ev.ctrlKey || ev.metaKey || ev.altKey || document.querySelector('dialog[open]')) return;
  if (typing(ev.target)) {
    if (ev.key === 'Escape') ev.target.blur();
    return;
  }
  const card = document.activeElement?.closest?.('.card');
  const button = card && { a: 'once', A: 'always', d: 'deny' }[ev.key];
  if (button) {
    const el = card.querySelector(`[data-answer=${button}]`);
    if (el && !el.disabled) el.click();
    ev.preventDefault();
    return;
  }
  if (ev.key === 'n') {
    document.querySelector('.needs .card')?.focus();
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
