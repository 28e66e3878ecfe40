// Package pack is the file in which runs travel from one store to another: its form and its seal.
// It knows nothing of databases, and needs the standard library alone.
//
// # The file
//
// The first line is a [Header], as JSON. Behind it come blocks: four bytes with the length of what
// follows (big endian), and a piece of the content, sealed with AES-256-GCM. The nonce is the
// number of the block in its last eight bytes; its first byte is 1 in the last block and 0
// before. The SHA-256 of the header's line is additional data of every block, so no block can
// be changed, dropped, added or put behind another header.
//
// The key of the blocks is in the header: sealed to the store that the pack is for (HPKE, RFC 9180,
// with X25519, HKDF-SHA-256 and AES-256-GCM), or as it is. In a pack that is for nobody in
// particular it only tells damage.
//
// The content is deflated lines of JSON, each a [Record]: first About, then what the facts name
// (threads, kept contents, bodies, secrets, environments), then each run with its facts, in the
// order in which they began, and at last End, with the number of lines.
package pack
