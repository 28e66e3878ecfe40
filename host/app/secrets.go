package app

import (
	"os"

	"agent/db"
	"agent/db/redact"
	"agent/host/model/wire"
)

// known are the values of this process's environment that must come to rest nowhere in the clear.
func known() []redact.Known { return redact.FromEnvironment(os.Environ()) }

// lookalikes finds what recordings hide besides the values of unsaid: what the state folder takes for a secret too.
func lookalikes() wire.Finder {
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

// cleans has errors and the log cleaned by what the store knows, and has the store know every key that is fetched.
func (a *App) cleans(s *db.Store) {
	a.wipe = s.Clean
	a.keys.announce(func(provider, key string) {
		s.Know(redact.Known{Rule: "key-" + provider, Value: key})
	})
}

// Cleaned is a text without secrets, for an error or the log.
func (a *App) Cleaned(text string) string {
	if a.wipe == nil {
		a.wipe = db.Wiper(known()) // no state folder is open
	}
	return a.wipe(text)
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
