// Package redact finds secrets in text and in JSON, replaces them by placeholders and puts them back. It is pure: what a
// placeholder stands for is kept by whoever calls it.
package redact
