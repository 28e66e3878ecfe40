// Package anthropic asks models over Anthropic's Messages API, streaming.
//
// # The request
//
// Its bytes are a function of the model.Request and of the model's name, and of nothing else: no
// clock, no randomness, no map order, no environment. They are written here and not by the official
// library's parameter types, which re-encode a schema and a call's arguments and put the messages
// in front of the tools. The members stand in the order in which the provider reads them: what is
// fixed for a run first, the messages last. So the body of a later turn begins with the body of the
// one before it, up to the new part (DESIGN 11).
//
// A call is named by our own id, which is unique in the thread; the provider's may repeat. An
// assistant's message keeps the order of its blocks as they came. Blocks that the API refuses are
// left out: text without a letter in it, reasoning that ends a message, reasoning of another
// protocol. Messages of one side in a row become one, and between two answers in a row, or behind
// the last, the user says goOn, since models from 4.6 on do not take a conversation that ends with
// their own words.
//
// # The cache
//
// A provider reads the longest prefix that it has cached: it looks for an entry where a breakpoint
// stands and at up to 20 blocks before it, and writes one at each breakpoint; at most four may
// stand in a request. Three are used:
//
//   - The request's own cache_control, "automatic caching": the provider puts a breakpoint on the
//     last block. A breakpoint of ours on the last block would have to move with every turn, and
//     change bytes of messages that were sent before.
//   - One on the system prompt, or on the last tool when there is none. It never moves. A new
//     thread finds tools and system prompt of the one before.
//   - When the last answer and its results are so many blocks that the look back from the end does
//     not reach where the request before ended, one at that place. It is the only one that appears
//     and goes; markers are no part of what is cached or compared. A run whose turns have fewer
//     than wide blocks never has it, and each of its bodies is a true prefix of the next. The same
//     request, repeated after a crash, has the same bytes in any case.
//
// Source: platform.claude.com/docs/en/build-with-claude/prompt-caching.
//
// # Thinking
//
// Thinking comes with a signature, and both go back as they came: in Block.Text, and in
// Block.Opaque under "anthropic". From 5.1 on, a model takes a thinking block back only behind the
// system prompt, the tools and the messages that it was thought behind; anything else is refused,
// for ever. A summary of older turns, an AGENTS.md that changed between two runs or another set of
// tools would leave a thread that cannot go on. So Opaque also holds a digest of that prefix, and a
// block whose prefix is another one now is left out, as the documentation advises. That is a
// function of the request too.
//
// Source: platform.claude.com/docs/en/build-with-claude/preserved-thinking.
package anthropic
