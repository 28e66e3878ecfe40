package host

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName bounds the name of a run, characters.
const maxName = 80

// CheckName refuses what a run cannot be called.
func CheckName(name string) error {
	switch {
	case strings.TrimSpace(name) != name || name == "":
		return errors.New("a name is not empty, and neither begins nor ends with a space")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unprintable):
		return errors.New("a name has no control characters")
	case utf8.RuneCountInString(name) > maxName:
		return fmt.Errorf("a name has at most %d characters", maxName)
	case strings.EqualFold(name, "last"):
		return errors.New("last is the newest run, whatever it is called; choose another name")
	case len(name) > 1 && name[1] == '-':
		return fmt.Errorf("what begins with %q looks like an id; choose another name", name[:2])
	case strings.HasSuffix(name, "*"):
		return errors.New("a * at the end stands for any other characters where names are looked for; choose another name")
	}
	return nil
}

// unprintable says whether a character of a name would obey a terminal, or not be seen.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }
