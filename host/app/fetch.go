package app

import (
	"sync"

	"agent/tools/fetch"
)

// fetchOptions are what the fetch tool goes by. The configuration is read when a request needs it:
// most commands need none. One that cannot be read is reported where a run begins; here it allows
// nothing.
func (a *App) fetchOptions() fetch.Options {
	return fetch.Options{
		Agent: "agent/" + a.Version,
		Private: sync.OnceValue(func() []fetch.Private {
			s, err := a.Settings("")
			if err != nil {
				return nil
			}
			var all []fetch.Private
			for _, p := range s.Private {
				all = append(all, fetch.Private(p))
			}
			return all
		}),
	}
}
