package app

import (
	"os"

	"agent/db"
	"agent/db/redact"
	"agent/host/model/transport"
)

// known are the values of this process's environment that must come to rest nowhere in the clear.
func known() []redact.Known { return redact.FromEnvironment(os.Environ()) }

// lookalikes finds what recordings hide besides the values of unsaid: what the state folder takes
// for a secret too.
func lookalikes() transport.Finder {
	set := redact.New(known())
	return func(text string) [][2]int {
		name := func(string, []byte) string { return "recorded" }
		_, found, err := set.JSON([]byte(text), name)
		if err != nil { // it is no JSON
			_, found = set.Text([]byte(text), name)
		}
		var places [][2]int
		for _, f := range found {
			places = append(places, [2]int{f.From, f.From + len(f.Raw)})
		}
		return places
	}
}

// redactsWith has what the store knows taken out of errors and the log, and has the store know
// every key that is fetched.
func (a *App) redactsWith(s *db.Store) {
	a.redact = s.Redact
	a.keys.announce(func(provider, key string) {
		s.Know(redact.Known{Rule: "key-" + provider, Value: key})
	})
}

// Redacted is a text without secrets, for an error or the log.
func (a *App) Redacted(text string) string {
	if a.redact == nil {
		a.redact = db.RedactorOf(known()) // no state folder is open
	}
	return a.redact(text)
}

// announce calls tell with each key that was fetched, and with each that will be.
func (k *keyring) announce(tell func(provider, key string)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tell = tell
	for _, f := range k.fetched {
		tell(f[0], f[1])
	}
}

func (k *keyring) got(provider, key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fetched = append(k.fetched, [2]string{provider, key})
	if k.tell != nil {
		k.tell(provider, key)
	}
}
