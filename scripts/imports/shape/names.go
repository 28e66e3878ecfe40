package shape

import (
	"fmt"
	"go/ast"
	"strings"
)

// nameKinds are the measures of names and comments.
func nameKinds() []kind {
	return []kind{
		{"dialect-in-comments", true, "refused words per 10,000 lines of comment", dialectInComments},
		{"function-word-names", true, "declared names that are function words, in percent", functionWordNames},
	}
}

// functionWords relate other words, and do not say what something is. Words that have a good use in
// programs (end, known, rest, turn, done, seen, next, last) are not among them.
const functionWords = `said says say told tell word words gone stood stands stand heard hears hear met had left was were is are of
	there only ahead behind apart whole beside below above kept keeps went goes goon carryout carrying carry took takes take gave
	gives give ways meant means asked asks wanted wants wish vain sight spot shown shows saw looks looked same such own owns moved
	back again anew early late true made makes lie lies lying here with without when then thus still ever never`

// dialect is what the comments of well-kept programs hardly ever contain.
const dialect = `says said say told tell tells word words whole gone stands lies asks comes goes`

// functionWordNames is how many of the declared names are a function word and nothing else, in any
// case of letters, in percent. Declared are packages that an import renames, types, functions,
// methods, parameters, fields, constants, variables, locals and labels. A blank name is none.
func functionWordNames(m *Module) (float64, []string) {
	refused, all, times := wordSet(functionWords), 0, map[string]int{}
	for _, p := range m.packages {
		fileAt := m.handwritten(p)
		for id := range p.info.Defs {
			f := fileAt(id.Pos())
			if f == nil || id == f.Name || id.Name == "_" {
				continue
			}
			all++
			if refused[strings.ToLower(id.Name)] {
				times[id.Name]++
			}
		}
	}

	sum, found := counts(times)
	return 100 * float64(sum) / float64(max(all, 1)), found
}

// dialectInComments is how many words of comments are of the dialect, for each 10,000 lines of
// comment. A word is what is between spaces, without the punctuation around it. Each line on which
// there is a comment counts, those behind code as well.
func dialectInComments(m *Module) (float64, []string) {
	refused, all, times := wordSet(dialect), 0, map[string]int{}
	for _, f := range m.files {
		for _, group := range f.Comments {
			all += m.commentLines(group)
			for _, word := range strings.Fields(strings.ToLower(group.Text())) {
				if word = strings.Trim(word, ".,;:()\"'`?!"); refused[word] {
					times[word]++
				}
			}
		}
	}

	sum, found := counts(times)
	return 10000 * float64(sum) / float64(max(all, 1)), found
}

func (m *Module) commentLines(group *ast.CommentGroup) int {
	return m.line(group.End()) - m.line(group.Pos()) + 1
}

// counts lists how often each word was found.
func counts(times map[string]int) (sum int, found []string) {
	for word, n := range times {
		sum += n
		found = append(found, fmt.Sprintf("%5d %s", n, word))
	}
	_, found = ranked(found)
	return sum, found
}
