// Package sandbox runs a command so that the kernel holds it to what a session
// may do.
//
// A [Profile] says what that is, and depends on nothing but the session's
// rules. A [Plan] says what this system holds of it. A [Session] runs the
// commands of one session: they share a loopback, /tmp and copies of the caches
// of builds, and nothing else.
//
// On Linux a session has a holder: the worker's own binary in new user, mount,
// process, IPC and network namespaces. Each command has namespaces below it.
// Process 1 in them is again the worker's binary:
//
//   - Mounts show the system and the toolchains read-only, the workspace, and
//     hide or freeze what rules deny of it. They hold what is there when the
//     command starts, whatever links or descriptors lead to it.
//   - A seccomp filter tells process 1 of each call that makes a name: open with
//     O_CREAT, mkdir, rename, link and so on. It asks the worker, and does the
//     call itself if the rules allow it. No mount holds a name that is not
//     there yet, nor a folder whose denied file would get another name.
//   - Landlock is the second wall around the same folders.
//   - When process 1 ends, so does all that the command has started; when the
//     worker ends, all commands do.
//
// The package has more files than others since most of it differs by system.
//
// Where user namespaces are switched off, Landlock holds what it can. What is not
// held is in [Plan.NotHeld], and has to be asked about.
package sandbox
