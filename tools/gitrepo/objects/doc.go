// Package objects reads what a git repository keeps, and keeps it: the index, HEAD, and the blobs
// of clean files, which stay readable although a command destroys the repository.
//
// Nothing below .git is written, locked or renamed, and no index is refreshed. A repository is read
// from its files, as gitrepository-layout and gitformat-index describe them; git itself runs only
// for packed objects, in a pin, whose settings are ours, and for refs that are kept in reftables.
// So nothing that a repository names is run, and what lies in a file's place (a FIFO, a link, a
// lie about a length) can neither hold up nor mislead who reads.
package objects
