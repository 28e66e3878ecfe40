// Package app opens a state folder for a front door: the lock and the repair after a crash, the
// configuration, models and their keys, tools, MCP servers, the sandbox, rules of permission,
// secrets, and the log. It prints nothing: what a person should know goes to App.Notice, and what
// is asked comes back through functions that the front door gives.
package app
