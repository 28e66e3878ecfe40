package brief

import (
	"fmt"
	"strings"

	"agent/recovery"
	"agent/recovery/journal"
)

// Follows is what the model of a new run hears whose thread was restored, or is a copy.
func Follows(c journal.RunCreated) []journal.Body {
	if !c.Guarded || c.Root != "" || c.Setup.Provider == "" {
		return nil
	}
	return []journal.Body{journal.MessageAdded{By: "agent", Text: "This conversation was restored from a copy, and may have gone on elsewhere after that: calls may have been carried out that you do not see, " +
		"so look before you repeat anything. A person is asked before each call that acts."}}
}

// News is what the model of a run hears that was restored, or came from another store, since it
// was last driven: what it remembers may not be all that happened, or is not in its folder.
func News(s *recovery.State) []journal.Body {
	var lines []string
	if b := s.Back; b != nil && !b.Nothing {
		made := ""
		if !b.Made.IsZero() {
			made = " of " + b.Made.UTC().Format("2006-01-02 15:04 MST")
		}
		lines = append(lines, "This run was restored from a copy"+made+". What happened after it was made is not in this conversation: calls may have been carried out that you do not see, "+
			"so look before you repeat anything. A person is asked before each call that acts.")
	}
	if b := s.Back; b != nil && b.Pack != "" && b.Folder != "" {
		lines = append(lines, "This run works in "+b.Folder+" from here on.")
	}
	if b := s.Behind; b != nil {
		var names []string
		for _, f := range b.Files {
			names = append(names, f.Path)
		}
		if b.More > 0 {
			names = append(names, fmt.Sprintf("and %d more", b.More))
		}
		lines = append(lines, "Files that this run has written are not in "+b.Folder+" as it left them: "+strings.Join(names, ", ")+". Do not rely on earlier results about them.")
	}
	if len(lines) == 0 {
		return nil
	}
	return []journal.Body{journal.MessageAdded{Text: strings.Join(lines, "\n"), By: "agent"}}
}
