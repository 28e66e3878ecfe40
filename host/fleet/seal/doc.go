// Package seal keeps a fleet's log closed to whoever stores it: the key of the fleet, and the
// entries sealed with it.
//
// # The entry
//
// The first line is a header, as JSON, in the clear: the version of the form and the id of the
// fleet. So a log or a key of another fleet is known as such, and not taken for damage. Behind it
// come 12 random bytes and an [Entry], as deflated JSON, sealed with AES-256-GCM. The key is for
// one log alone: HKDF-SHA-256 of the fleet's key with the namespace and the root run. The header,
// the root and the place are additional data, so no entry can be put at another place or into
// another log.
package seal
