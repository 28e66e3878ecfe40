package journal

// Called is what a run can be found by again, beside its id, and by whom it is seen.
type Called struct {
	StartKey    string `json:"start_key,omitempty"`    // a start that is given the same key is this run
	StartDigest string `json:"start_digest,omitempty"` // SHA-256 of the request that the key was given with
	Name        string `json:"name,omitempty"`         // what a person calls it; other runs may have the same

	// Witness is the address of the witness that a driver of the run tells what it did before it
	// acts; "" for none. A run that has one is never driven without one.
	Witness string `json:"witness,omitempty"`
}
