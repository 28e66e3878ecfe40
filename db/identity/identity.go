// Package identity says which file a database is, so that a copy of it is not taken for it.
//
// A file that is copied (cp, tar, rsync, a backup that is put back) has another inode, or was made
// at another time, than the one that it was copied from; a folder that is moved, and a database
// that is vacuumed, keep both. A disk that is copied as a whole keeps them too: there the machine
// may be another one. Who rolls a whole disk back on one machine is not seen here.
package identity

// File is what a database is known by. Zero values are not known, and are compared with nothing.
type File struct {
	Inode   int64  // the number of the inode, as SQLite stores it
	Born    int64  // when the inode was made, microseconds since 1970
	Machine string // a hash of the machine's id
}

// Known says whether anything is known.
func (f File) Known() bool { return f != File{} }

// Differs says in words why now is another file than was; "" where it may be the same.
func (f File) Differs(now File) string {
	switch {
	case f.Inode != 0 && now.Inode != 0 && f.Inode != now.Inode, f.Born != 0 && now.Born != 0 && f.Born != now.Born:
		return "its database is another file than the one that this store was made with: the folder was copied, or a backup was put back"
	case f.Machine != "" && now.Machine != "" && f.Machine != now.Machine:
		return "this is another machine than the one that this store was made on"
	}
	return ""
}
