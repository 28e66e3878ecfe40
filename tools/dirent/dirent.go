// Package dirent reads the names in a folder with as few system calls as it takes, on Linux. Other
// systems have os.ReadDir.
package dirent
