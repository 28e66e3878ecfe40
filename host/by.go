package host

import "context"

type byKey struct{}

// ActedBy has what is done with the context be recorded as done by who instead of Host.Who.
func ActedBy(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, byKey{}, who)
}

// By is who acts.
func (h *Host) By(ctx context.Context) string {
	if who, ok := ctx.Value(byKey{}).(string); ok {
		return who
	}
	return h.Who
}
