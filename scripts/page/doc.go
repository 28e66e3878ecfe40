// Package page tests the page of agent serve in a real browser: the program as it is built, a model
// server on loopback, and Chromium, which a person's hands and eyes are played in. It is a module
// of its own, since the product stands on none of this. Run it with scripts/check page.
package page
