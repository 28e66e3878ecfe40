// Package page holds the files of the page that a browser shows.
package page

import "embed"

// Files are what a browser may load without a credential: they hold no data.
//
//go:embed *.html *.js *.css
var Files embed.FS
