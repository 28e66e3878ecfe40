// Package mcp gives a run the tools of MCP servers, over stdio and over streamable HTTP (Model
// Context Protocol, modelcontextprotocol.io/specification).
//
// A server is another's program: what it says is data, and what it offers is believed only as far
// as a person decided.
//
//   - Its tools are called mcp__<server>__<tool>, so none can stand in for a built-in tool or for
//     another server's.
//   - A call is a write_external that cannot be repeated, unless the person's own file calls the
//     server trusted; then the tool's annotations decide, and a missing one means the most
//     dangerous (readOnlyHint, openWorldHint, idempotentHint).
//   - Name, description and schema of each tool are pinned when the run's list of tools is made. A
//     tool that differs from its pin is refused until the next run, and tools that appear meanwhile
//     are left out until then.
//   - A server that ends, hangs, floods or talks nonsense is ended and started again, a few times.
//     What a call of it may have done by then is unknown, unless the call only reads.
//   - A server on stdio is a child in a process group of its own. It gets the environment that
//     commands get and what its definition adds, runs within what Options.Wrap sets up, and ends
//     with the host.
//   - An answer that says isError is a known outcome, as a command's exit status is: the tool ran
//     to its end and says that it failed. What it did until then stands, so the call counts as
//     applied unless it only reads.
//   - Every call carries the key IdempotencyKey in its _meta, which is the same for every attempt
//     at the same call.
package mcp
