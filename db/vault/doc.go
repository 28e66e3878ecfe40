// Package vault keeps secrets out of what comes to rest. What a process knows to be secret, and
// what looks like it, is taken out of every text before it is stored, and a placeholder stays in
// its place ([Vault.Encode]); the value is sealed with a key that lies beside the database
// (key.go), and given back to who may have it ([Vault.Restore]). Whoever else is shown a text gets
// it with placeholders ([Vault.Redact]).
package vault
