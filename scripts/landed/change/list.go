package change

import (
	"bufio"
	"fmt"
	"regexp"
	"strings"
)

// List is the file that names the commits which landed, relative to the root of the repository.
const List = "scripts/landed.txt"

// parseList reads the commits of a list, in the order of its lines. A line is a commit of 7 to 40
// hexadecimal digits, a comment behind "#", or empty.
func parseList(text string) ([]string, error) {
	commit := regexp.MustCompile(`^[0-9a-f]{7,40}$`)
	var commits []string
	var lines []int

	scanner := bufio.NewScanner(strings.NewReader(text))
	for n := 1; scanner.Scan(); n++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}

		if !commit.MatchString(line) {
			return nil, fmt.Errorf("%s:%d: not a commit", List, n)
		}
		for i, earlier := range commits {
			if strings.HasPrefix(earlier, line) || strings.HasPrefix(line, earlier) {
				return nil, fmt.Errorf("%s:%d: twice, first in line %d", List, n, lines[i])
			}
		}
		commits, lines = append(commits, line), append(lines, n)
	}
	return commits, scanner.Err()
}

// ancestors are the commits of a list that are among those of a history, in full. A history is what
// git rev-list prints.
func ancestors(list []string, history string) (found []string) {
	commits := strings.Fields(history)
	for _, short := range list {
		for _, commit := range commits {
			if strings.HasPrefix(commit, short) {
				found = append(found, commit)
				break
			}
		}
	}
	return found
}

// isEmpty reports whether the commits of a change changed files that are now as they were before
// it. Notes and the list itself are no work: a change of them alone is not empty.
func isEmpty(files, inCommits []string) bool {
	return !hasWork(files) && hasWork(inCommits)
}

func hasWork(files []string) bool {
	for _, name := range files {
		if name != List && !strings.HasSuffix(name, ".md") {
			return true
		}
	}
	return false
}
