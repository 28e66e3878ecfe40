//go:build !linux || portable

package ofd_test

// sharedShows: a look takes the lock together with those who hold it shared.
const sharedShows = false
