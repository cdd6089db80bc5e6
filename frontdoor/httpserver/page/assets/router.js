// The address of the page, and the clicks and steps that change it.

let show = () => {};

// route has a function show what an address has, now and with each change of it.
export function route(fn) {
  show = fn;
  addEventListener('popstate', show);
  addEventListener('click', (ev) => {
    const a = ev.target.closest?.('a[href^="/"]');
    if (!a || a.target || a.hasAttribute('download') || ev.defaultPrevented || ev.button || ev.ctrlKey || ev.metaKey || ev.shiftKey) return;
    ev.preventDefault();
    go(a.getAttribute('href'));
  });
  show();
}

// go shows another address of the page.
export function go(path) {
  if (path === location.pathname) return;
  history.pushState(null, '', path);
  show();
  scrollTo(0, 0);
  document.getElementById('view').focus({ preventScroll: true }); // a screen reader continues there
}
