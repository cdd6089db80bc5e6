package main

import "github.com/agentworker/worker/internal/errtext"

// plain is an error in the words of people.
func plain(err error) string { return errtext.Of(err) }
