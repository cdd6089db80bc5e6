package config

// Load loads the configuration.
func Load() {}
