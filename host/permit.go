package host

import "agent/recovery"

// Permit says what a mode makes of an effect. It leaves out that what the person who started a run wrote needs no further
// yes.
func Permit(m recovery.Mode, e recovery.Effect) recovery.Decision {
	d, _ := permit(m, e, false)
	return d
}
