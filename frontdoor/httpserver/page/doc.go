// Package page is the live page of a worker, for people with a browser: what needs
// them, the tree of sessions, transcripts, agents. The HTTP server serves it beside
// its API.
//
//	GET  /login?link=CODE      makes a one-time link a cookie
//	GET  /                     the page; also /sessions/ID and /agents
//	GET  /assets/FILE          its scripts and styles
//	GET  /page/…               what they ask for, as JSON and server-sent events
//	POST /v1/page/links        a new link, for who has the bearer token
//
// The files below assets are what the browser gets: ES modules and a style sheet,
// without a build step.
//
// # Who sees it
//
// The bearer token is never part of an address. A link can be used once, within ten
// minutes, and becomes a cookie. The cookie is signed with a key made of the token: it
// outlives the process, and ends when the token file is deleted. What a cookie asks
// to change has to come from the page itself (see [Page.Admit]).
//
// # What it shows
//
// Names, answers and arguments are written by models and by strangers. They reach
// the page as text, or as HTML that the server has made of Markdown without raw HTML,
// images and other links than http, https and mailto. The Content-Security-Policy
// lets nothing run that is not below /assets, and nothing be loaded from elsewhere.
package page
