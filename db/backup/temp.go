package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"agent/tools/process"
)

// What is being made lies beside its place, under a name that tells who makes it: what a process
// left that is gone is removed by the next one.
const (
	making    = ".agent-backup-"
	Unpacking = ".agent-restore-" // begins the name of a state folder that is being made
)

// TempName is a pattern for os.CreateTemp and os.MkdirTemp.
func TempName(begins string) string {
	self := process.Self()
	return fmt.Sprintf("%s%s-%s-%d-%s-*", begins, short(self.Host), short(self.Boot), self.PID, self.Start)
}

func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// Sweep removes what processes of this machine left in a folder that are gone.
func Sweep(dir, begins string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return // who makes something there hears of it
	}
	for _, e := range list {
		if rest, ours := strings.CutPrefix(e.Name(), begins); ours && gone(rest) {
			_ = os.RemoveAll(filepath.Join(dir, e.Name())) // it is left over, and the next one tries again
		}
	}
}

// gone says whether who made something under a name is not there any more.
func gone(name string) bool {
	self, part := process.Self(), strings.Split(name, "-")
	if len(part) != 5 || part[0] != short(self.Host) {
		return false // nobody knows
	}
	pid, err := strconv.Atoi(part[2])
	if err != nil {
		return false
	}
	return part[1] != short(self.Boot) || !process.Identity{PID: pid, Start: part[3], Boot: self.Boot}.Alive()
}
