package config

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"
	"time"
)

// Witness says who hears what runs did before they act. Zero is nobody.
type Witness struct {
	Address  string        // unix: and the absolute path of a socket
	Patience time.Duration // how long it may be silent before a run is interrupted; 0 where it is not said
}

// Or fills in what is not said: 10 minutes.
func (w Witness) Or() Witness {
	w.Patience = cmp.Or(w.Patience, 10*time.Minute)
	return w
}

// CheckWitness refuses what is no address of a witness.
func CheckWitness(address string) error {
	path, ok := strings.CutPrefix(address, "unix:")
	if !ok || !filepath.IsAbs(path) {
		return errors.New("an address of a witness is unix: and the absolute path of its socket, such as unix:/run/user/1000/witness")
	}
	return nil
}

type witnessKeys struct {
	Address  *string `toml:"address"`
	Patience *string `toml:"patience"`
}

// witness reads who that is.
func (c *checker) witness(k *witnessKeys) Witness {
	var w Witness
	if k == nil {
		return w
	}
	if k.Address != nil {
		if err := CheckWitness(*k.Address); err != nil {
			c.wrong([]string{"witness", "address"}, "address: %v", err)
		}
		w.Address = *k.Address
	}
	if k.Patience != nil {
		d, err := time.ParseDuration(*k.Patience)
		if err != nil || d <= 0 {
			c.wrong([]string{"witness", "patience"}, "patience: %q is no time above 0, such as 10m", *k.Patience)
		}
		w.Patience = d
	}
	return w
}
