// Package lease tells which processes that run sessions are alive.
//
// Each of them stores a [Lease] under its boot id, and renews it. Another one ends the
// sessions of a process only with a claim: a compare-and-set that replaces the lease by
// one that names the claimant. So a claim and a renewal never both succeed, one process
// at a time recovers the sessions of another, and a process that was taken for gone
// finds that out with its next renewal.
//
// A lease may be claimed if its process is known to have ended (it said so, or this
// machine has no such process), or if the claimant has seen no change of it for [Time]
// while all of the claimant's own renewals succeeded. Only the claimant's clock counts,
// and time in which the store was away does not.
package lease
