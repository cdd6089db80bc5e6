// Making and changing elements. All text that sessions bring goes through text nodes;
// the one way for HTML is setMarkdown.

// h makes an element: h('a', {href, class, onclick}, 'text', child).
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) el.addEventListener(name.slice(2), value);
    else if (name in el && name !== 'list' && name !== 'form' && typeof value !== 'string') el[name] = value;
    else el.setAttribute(name, value === true ? '' : value);
  }
  el.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

// s makes an element of SVG.
export function s(tag, props, ...children) {
  const el = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(props ?? {})) el.setAttribute(name, value);
  el.append(...children);
  return el;
}

// setText changes the text of an element where it is another one.
export function setText(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

// setClass changes the class of an element where it is another one.
export function setClass(el, name) {
  if (el.className !== name) el.className = name;
}

const policy = globalThis.trustedTypes?.createPolicy('markdown', { createHTML: (html) => html });

// setMarkdown shows what the server has made of Markdown: it has no scripts, no
// images, and no links but http, https and mailto.
export function setMarkdown(el, html) {
  el.innerHTML = policy ? policy.createHTML(html) : html;
  for (const a of el.querySelectorAll('a')) {
    a.target = '_blank';
    a.rel = 'noopener noreferrer';
  }
  return el;
}

// pieces shows a text of which nothing hides: see visible.go.
export function pieces(list) {
  return list.map((p) => (p.h ? h('mark', { class: 'hides', title: 'a character that would not be seen' }, p.t) : p.t));
}

// keyed makes the children of parent those of a list, by their keys: what is there stays
// there, with its focus and its state.
export function keyed(parent, list, keyOf, make, update) {
  const old = new Map([...parent.children].map((el) => [el.dataset.key, el]));
  let at = parent.firstElementChild;
  for (const item of list) {
    const key = String(keyOf(item));
    let el = old.get(key);
    old.delete(key);
    if (!el) {
      el = make(item);
      el.dataset.key = key;
    }
    update?.(el, item);
    if (el === at) at = at.nextElementSibling;
    else parent.insertBefore(el, at);
  }
  for (const el of old.values()) el.remove();
}

const signs = { add: '+ ', del: '- ', same: '  ', at: '' };

// difference shows the lines of a diff.
export function difference(lines, label) {
  return h('div', { class: 'diff', tabIndex: 0, role: 'group', 'aria-label': label },
    lines.map((line) => h('div', { class: line.op }, signs[line.op], pieces(line.text))));
}
