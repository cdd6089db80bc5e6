// Package termtext makes text from models, files and the network fit to be shown
// to a person: in one line, without characters that move the cursor or change
// the direction of the text, cut to a length.
package termtext
