// Package conversation is what sessions do with the messages that a model is sent, apart
// from who sends them: their size, the turns they have, the steps that are kept, and how a
// model reads them that summarises.
package conversation
