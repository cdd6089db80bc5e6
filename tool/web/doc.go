// Package web has the tools that look things up on the web: web_fetch and web_search.
//
// web_fetch gets one page. Rules decide on the URL in its canonical form, and rules about the
// network on its host and on each address that this has. A redirect is decided on as a call of
// its own. A page becomes Markdown: readability finds its article, html-to-markdown writes it.
//
// web_search asks the provider that the settings name. Without one it is not offered.
package web
