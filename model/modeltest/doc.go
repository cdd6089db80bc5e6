// Package modeltest tests what is built on models without a provider.
//
// [Server] answers on a loopback port as the providers do, in their real wire
// formats: Anthropic's Messages API at /v1/messages, OpenAI's Chat Completions
// API at /v1/chat/completions and its Responses API at /v1/responses, all of
// them streamed. Point a program at it
// with ANTHROPIC_BASE_URL (the server's URL) or OPENAI_BASE_URL (the URL and
// "/v1"). It plays a script of package replaymodel, which also says how an
// answer breaks off, or sends a [Transcript]. It refuses what the providers
// refuse: a request that it answers is well formed.
//
// [Suite] holds a model to the rules of package model.
package modeltest
