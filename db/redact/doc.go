// Package redact finds secrets in text and in JSON, replaces each by a placeholder,
// [secret:<rule>:<id>], and puts them back to the byte. It is pure: who calls it names a secret and
// keeps its value.
//
// # What is found
//
// Known values (New, With, FromEnvironment) first: as they are; with the escapes of JSON and most
// languages (\/ \u003c \x3c), three times over, for JSON in strings of JSON; percent-encoded, twice
// over; with the character references of HTML; in base64 (both alphabets, at each of the three
// places in a longer text) and in hexadecimal; and all that also split by blanks, line breaks,
// backslashes, quotes and plus signs, as wrapping and concatenation do.
//
// Patterns: the rules of gitleaks v8.30.1 (gitleaks.json, LICENSE-gitleaks), and what it has no
// rule for: the password of a URL, a private key block (also one that was cut off), Authorization
// headers, the AWS secret beside its key id, keys that are known by how they begin however little
// random they look (sb_secret_, hf_, sk-, whsec_, glpat-, npm_, dckr_pat_ …), values of JSON
// members, variables, flags, headers and query parameters whose names say so, .netrc and .pgpass.
// What a text escapes is looked at as well. A text that looks like a placeholder is a secret too
// (rule literal), so that nothing that was not taken out is ever put in.
//
// # What is left alone, and why
//
// A known value is not looked for where it would shred ordinary text (Unusable): shorter than 8
// bytes; a word or two as people write them, a number, date or address, if shorter than 16; a path;
// a URL without a password; a reference such as $NAME; fewer than four different characters. By
// pattern such a value is found where its name stands beside it. Checksums, the ids of this
// program, certificates, public keys and what documents put in a secret's place (<token>, xxxx,
// your-key) are none.
//
// # What cannot be found
//
// A secret that is not known and looks like a word where nothing beside it says what it is; one
// that is a JSON number; one in an image, in a compressed or encrypted file, reversed, in another
// case, in base64 of base64, in base32, or spelled out one character a line; one split over several
// JSON strings, or by more than 256 blanks or by anything but what is named above (the numbers of
// lines, say); a pattern that is wrapped or encoded. In a Stream also what only a later line shows
// to be a secret, and the rest of a private key whose first line never came.
package redact
