// Package person has a person at a real terminal, tmux, who does with agent what people run into
// with tools of its kind: each story shows what is otherwise here. It is done at 80 and at 120
// columns, against a model server on loopback that streams. scripts/check person runs it, and
// scripts/results has what the person saw.
package person
