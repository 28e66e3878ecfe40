// Package transport is what every provider's HTTP exchange goes through, below the providers'
// protocols: it bounds an exchange in time and size, says why one brought no answer, and records
// and replays exchanges.
//
// # Bounds
//
// An answer may take hours, so there is no total timeout. An exchange ends as stalled when no byte
// came for Idle, or when nothing but keep-alives (SSE comments, blank lines, ping events) came for
// Quiet: a provider sends them while it thinks, so they do carry an exchange, but not for ever. The
// time is counted only while a byte is waited for, so a slow reader never makes a provider look
// stalled. It ends as too_large after Largest bytes, counted after decompression, and at a line of
// more than 8 MiB, which a reader of lines would have to hold in memory several times over.
//
// # Refusals
//
// An answer with a status other than 2xx reaches the protocol as an error (*Refused) and not as a
// response, so that none of them can lose the status of one without the provider's JSON in it, such
// as a proxy's web page. So do the redirects, which are never followed, since the key would go
// along. Explain knows what was refused from the error alone.
//
// # Recordings
//
// A recording is a file of JSON lines, for its owner only: a Header, then an Exchange a line,
// written when the exchange ends. No request header is in it, and of the answer's only those that
// Explain reads. Secrets are replaced by [secret].
package transport
