package taskt

// DefaultLimits are the limits of a service whose options name none.
func DefaultLimits() Limits { return Limits{}.withDefaults() }
