// Package notify tells people who are not at the screen what sessions need of them, and how tasks
// have ended: by HTTP, by a command, or on the desktop.
//
// The stream of events is the queue. Each target reads it for itself, from the place that the
// state folder has noted, and sends one message after the other until it is taken. So nothing is
// lost while a chat server is away or no worker runs, and a slow target delays no other. Of all
// processes of a workspace on a machine one sends.
package notify
