package report

import (
	"agent/host/stats"
	"agent/host/terminal"
)

// Stats prints one table by model and one by folder, each with its total. Where says of which runs
// they are, at the end of a sentence.
func Stats(t *terminal.Terminal, v stats.Stats, where string) {
	if len(v.Models) == 0 {
		t.Say(t.Err, "no run was started%s", where)
		return
	}
	byModel, byFolder := terminal.Table{Head: stats.Head("MODEL"), Fit: t.Width()}, terminal.Table{Head: stats.Head("FOLDER"), Fit: t.Width()}
	for _, m := range v.Models {
		byModel.Add(m.Cells(m.Model)...)
	}
	for _, f := range v.Folders {
		byFolder.Add(f.Cells(t.Tilde(f.Folder))...)
	}
	byModel.Write(t.Out)
	t.Say(t.Out, "")
	byFolder.Add(v.Total.Cells("total")...)
	byFolder.Write(t.Out)
}
