// Package mcpclient gives sessions the tools of MCP servers.
//
// [Servers] knows the servers of a workspace: the user's own, and the repository's, which a
// person has to trust first ([Trust]). A tool of a server is called mcp__SERVER__TOOL. The
// gate decides on each call. The server's texts about it are cleaned and bounded.
//
// The list of a server's tools is kept in the state folder by the hash of its
// configuration, so that an agent begins without waiting. A server is started at the first
// call of a session, in a sandbox that the session's rules and the trust are made into, and
// it ends with the session.
package mcpclient
