// Package custody decides where a run of a fleet is driven. It is a workflow of the engine
// (Temporal), and acts on nothing: hosts drive runs, and the log says who may.
package custody
