package host

import (
	"context"

	"agent/recovery"
	"agent/tools"
)

// Equipment is what a run has beside what is built in.
type Equipment struct {
	Tools   *tools.Registry      // all of the run's tools
	Servers []recovery.ServerPin // what MCP servers said of theirs
	Notes   []string             // what is to be said of them
}

// equip has the run's tools found that are not built in, before the run is created or claimed. The notes say what became of
// them; they belong into the journal.
func (h *Host) equip(ctx context.Context, c recovery.RunCreated) (Equipment, error) {
	if h.Equip == nil {
		return Equipment{}, nil
	}
	e, err := h.Equip(ctx, c)
	if err == nil {
		h.Tools = e.Tools
	}
	return e, err
}

// equipLook is equip for a look at a run. Only a run that was started with other tools than those that are known here needs it.
func (h *Host) equipLook(ctx context.Context, s *recovery.State) error {
	if s.Created.ToolsHash == h.Tools.Digest() {
		return nil
	}
	_, err := h.equip(ctx, s.Created)
	return err
}
