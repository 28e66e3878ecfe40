package sandbox

// ToBytes makes texts fit for JSON: arguments and variables may not be UTF-8, and JSON's strings
// are.
func ToBytes(in []string) [][]byte {
	out := make([][]byte, len(in))
	for i, s := range in {
		out[i] = []byte(s)
	}
	return out
}

// ToStrings is the way back from ToBytes.
func ToStrings(in [][]byte) []string {
	out := make([]string, len(in))
	for i, b := range in {
		out[i] = string(b)
	}
	return out
}
