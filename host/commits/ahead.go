package commits

import (
	"context"
	"maps"
)

// Bounds of what is read at once for several commits.
const (
	atOnce   = 64     // commits
	maxNames = 20_000 // paths that they changed
	maxEach  = 200    // paths of a commit whose patch is worked out with others
)

// ahead reads at once what judging some commits asks for, in few processes and few questions to the
// store. What it does not read is asked for commit by commit.
func (b *book) ahead(ctx context.Context, all []found) error {
	b.recent, b.records.ahead = nil, nil
	if len(all) < 2 {
		return nil
	}
	if err := b.lookUp(ctx); err != nil {
		return err
	}
	var ids []string
	for _, f := range all {
		ids = append(ids, f.id)
	}
	of := ids
	for _, l := range b.recent {
		if _, known := b.linked[l.ID+l.Checkpoint+l.Run]; !known {
			of = append(of[:len(of):len(of)], l.ID)
		}
	}
	known, err := b.rd.Ahead(ctx, of)
	if err != nil {
		return ctx.Err() // alone each says why
	}
	if err := b.messagesAhead(ctx, ids); err != nil {
		return err
	}
	return b.changesAhead(ctx, known)
}

// messagesAhead reads the trailers of messages.
func (b *book) messagesAhead(ctx context.Context, ids []string) error {
	all, _, err := b.rd.Commits(ctx, ids)
	if err != nil {
		return err
	}
	var messages []string
	for _, c := range all {
		if hasTrailer(c.Message) {
			messages = append(messages, c.Message)
		}
	}
	if _, err := b.rd.Trailers(ctx, messages); err != nil {
		return ctx.Err()
	}
	return nil
}

// changesAhead works out the patches of commits, where they count, and finds the runs that changed
// the same paths.
func (b *book) changesAhead(ctx context.Context, ids []string) error {
	runs := map[string][]string{}
	var small, names []string
	for _, id := range ids {
		list, err := b.rd.Changes(ctx, id)
		if err != nil {
			return ctx.Err()
		}
		if len(list) <= maxEach {
			small = append(small, id)
		}
		for _, c := range list {
			if _, have := runs[c.Path]; !have {
				runs[c.Path] = nil
				names = append(names, c.Path)
			}
		}
	}
	if len(b.recent) > 0 {
		if _, err := b.rd.PatchIDs(ctx, small); err != nil {
			return ctx.Err()
		}
	}
	if len(names) > maxNames {
		return nil
	}
	found, err := b.records.changers(ctx, b.repo.Top, names)
	if err != nil {
		return err
	}
	maps.Copy(runs, found)
	b.records.ahead = runs
	return nil
}
