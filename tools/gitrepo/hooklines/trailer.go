package hooklines

import "strings"

// Trailer is the key of the line that names a commit's checkpoint.
const Trailer = "Agent-Checkpoint"

// idLength is how many characters follow the kind of an id, and alphabet is which.
const (
	idLength = 12
	alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
)

// IsID says whether a word has the form of a checkpoint's id.
func IsID(word string) bool {
	id, ok := strings.CutPrefix(word, "k-")
	return ok && len(id) == idLength && strings.Trim(id, alphabet) == ""
}

// IsLine says whether a line is our trailer, as it is written by git.
func IsLine(line string) bool {
	id, ok := strings.CutPrefix(line, Trailer+": ")
	return ok && IsID(id)
}

// Without is a commit's message before our trailer was added at its end: the trailer joined the
// trailers that were there, or stands apart. A message without it is returned as it is.
func Without(message string) string {
	body, ok := strings.CutSuffix(message, "\n")
	at := strings.LastIndexByte(body, '\n') + 1
	if !ok || at == 0 || !IsLine(body[at:]) {
		return message
	}
	body = body[:at]
	if strings.HasSuffix(body, "\n\n") {
		return body[:len(body)-1]
	}
	return body
}
