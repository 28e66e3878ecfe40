package workspace

import "slices"

// Acts lists what carrying out the plan writes, in an order in which each can be done: files and
// links are removed, then folders, those inside first; then folders are made, or get their mode,
// those outside first, and then files and links are written. Where a folder gives way to something
// else, or something else to a folder, the path is there twice: it is removed first (Want is nil),
// and made then (Now is nil). Who repeats acts after having been killed skips both if what is
// wanted is there already.
func (p Plan) Acts() []Item {
	var files, folders, made, written []Item
	for _, i := range p.Items {
		if !i.Writes() {
			continue
		}
		if i.Now != nil && (i.Want == nil || folder(i.Now) != folder(i.Want)) {
			gone := i
			gone.Want = nil
			if folder(i.Now) {
				folders = append(folders, gone)
			} else {
				files = append(files, gone)
			}
			i.Now = nil
		}
		switch {
		case i.Want == nil:
		case folder(i.Want):
			made = append(made, i)
		default:
			written = append(written, i)
		}
	}
	slices.Reverse(folders) // sorted, a folder comes before what is in it
	return slices.Concat(files, folders, made, written)
}

// Leaving lists the folders that carrying out the plan removes. Of what else lies in each,
// [NewPlan] is to be given one path at least, so that it stays.
func (p Plan) Leaving() []string {
	var out []string
	for _, i := range p.Items {
		if i.Writes() && folder(i.Now) && !folder(i.Want) {
			out = append(out, i.Name())
		}
	}
	return out
}
