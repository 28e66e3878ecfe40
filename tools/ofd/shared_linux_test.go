//go:build !portable

package ofd_test

// sharedShows: Linux shows who holds a lock shared.
const sharedShows = true
