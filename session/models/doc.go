// Package models has the models that sessions call: with whose credentials, what a call
// costs, and until when a provider wants to be left alone.
package models
