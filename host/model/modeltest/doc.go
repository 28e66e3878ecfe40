// Package modeltest is a model server on loopback for tests and scripts. It speaks the wire
// protocols of the providers as their public documentation has them (Anthropic: Messages, Streaming
// messages, Extended thinking, Errors; OpenAI: Responses, Responses streaming events, Chat
// Completions, Error codes; Ollama: tags and show) and shares no code with the clients that it
// tests.
//
// It refuses what the provider would refuse: calls without results, results without calls, ids that
// repeat, thinking whose signature does not fit, encrypted reasoning that was changed, unknown
// fields, schemas that are none, a key that is wrong.
//
// It answers from the conversation that a request shows, by a Script, and remembers nothing that an
// answer depends on but the number of requests for the same answer (which a Fault may name) and the
// provider's cache. So a client that was killed goes on sensibly. Everything that it receives is
// kept in order, and a stream can be held at any byte until a test lets it go on.
package modeltest
