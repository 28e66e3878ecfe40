// Package witness is what a driver asks before it acts: a server on a unix socket that puts what
// drivers report into the fleet's log (package agent/fleet/log). The lines are those of package
// agent/host/witness/line.
//
// An append is answered in this order: the log is read up to its end; if the place is taken, the
// driver is fenced, unless the entry there is the same one, whose answer got lost; what the records
// bring is checked against what the log has; the entry is created. Where nobody knows whether it
// was stored, the place is read, and the driver gets "later" if that does not say it either. A
// driver that asks again sends the same entry: another one could meet its own earlier one.
package witness
