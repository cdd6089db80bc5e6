// Package models has the models that sessions call. It knows whose credentials a call uses,
// what a call costs, and how long a provider has to be spared.
package models
