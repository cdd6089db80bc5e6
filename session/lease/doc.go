// Package lease finds out which processes that run sessions are alive.
//
// Each of them stores a [Lease] under its boot id, and renews it. Another process ends
// its sessions only after a claim: a compare-and-set that replaces the lease by one
// with the claimant's name. So a claim and a renewal never both succeed, and only one
// process at a time recovers the sessions of another. A process that was wrongly
// considered dead finds that out with its next renewal.
//
// A lease may be claimed if its process is known to have ended: it reported its end, or
// this machine has no such process. It may also be claimed if it has not changed for its
// [Lease.Duration], while all of the claimant's own renewals succeeded. Only the claimant's
// clock counts. Time without the store does not count.
package lease
