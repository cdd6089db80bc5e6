// Package worktree gives an agent a git worktree of its own, made from the
// repository as it lies on disk, and brings back what the agent has changed.
//
// [Store.Create] takes a snapshot of the working files: tracked ones, staged or
// not, and untracked ones that are not ignored. The snapshot is a commit on a
// branch of its own, and the worktree is checked out from it. [Worktree.Changes]
// takes a second snapshot, of the worktree; the difference of the two is what
// the agent has done, whether or not it has committed anything.
// [Worktree.Apply] merges it into the repository's working files, and
// [Worktree.Discard] throws it away. The user's index, HEAD, stash and branches
// are never touched, and only Apply changes the working files.
//
// # A repository that is not trusted
//
// What git does is decided by the repository's own settings, which can name
// programs. So all work on files is done in a git folder that is made for one operation.
// It has the repository's objects, and only the settings in [copied], which say how
// files are stored. No hook, filter, file system monitor, merge driver, diff driver,
// textconv or remote is known there. A few commands need the repository itself: where
// it is, a worktree, a branch. They run without hooks, monitor and protocols.
//
// A file with a filter (Git LFS, git-crypt) is therefore taken as it lies on
// disk, and arrives so. The user's own git filters it when the user adds it.
// Conversions of line ends and encodings are git's own, and are done.
//
// # What is not carried
//
// Submodules stay empty folders, as in any new worktree, and repositories that
// lie in the working files without being submodules are left out; both are named
// in [Worktree.Left]. Files outside of a sparse checkout stay outside. Ignored
// files are not work: neither copied nor brought back.
package worktree
