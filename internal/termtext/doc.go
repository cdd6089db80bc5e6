// Package termtext prepares text from models, files and the network for people: in one
// line, and cut to a length. It removes characters that move the cursor or change the
// direction of the text.
package termtext
