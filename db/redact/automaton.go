package redact

// automaton finds many words in one pass (Aho and Corasick 1975), without regard to ASCII case, as a table of states by
// classes of bytes.
type automaton struct {
	class [256]uint8
	next  []uint32 // state, multiplied by the number of classes; with hasWords where words end there
	words [][]uint16
	width uint32
}

const hasWords = 1 << 31

func newAutomaton(words []string) *automaton {
	a := &automaton{width: 1}
	for _, w := range words {
		for i := range len(w) {
			if a.class[w[i]] == 0 {
				a.class[w[i]] = uint8(a.width)
				a.width++
			}
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		a.class[c-'a'+'A'] = a.class[c]
	}
	a.grow()
	for i, w := range words {
		state := uint32(0)
		for j := range len(w) {
			at := state + uint32(a.class[w[j]])
			if a.next[at] == 0 {
				a.next[at] = a.grow()
			}
			state = a.next[at]
		}
		a.words[state/a.width] = append(a.words[state/a.width], uint16(i))
	}
	a.link()
	return a
}

func (a *automaton) grow() uint32 {
	state := uint32(len(a.next))
	a.next = append(a.next, make([]uint32, a.width)...)
	a.words = append(a.words, nil)
	return state
}

// link fills in where to go on when the next byte does not fit, from the shortest beginnings to the longest.
func (a *automaton) link() {
	fall := make([]uint32, len(a.words))
	queue := []uint32{}
	for c := range a.width {
		if s := a.next[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		back := fall[state/a.width]
		a.words[state/a.width] = append(a.words[state/a.width], a.words[back/a.width]...)
		for c := range a.width {
			at := state + c
			if a.next[at] == 0 {
				a.next[at] = a.next[back+c]
				continue
			}
			fall[a.next[at]/a.width] = a.next[back+c]
			queue = append(queue, a.next[at])
		}
	}
	for i, s := range a.next {
		if len(a.words[s/a.width]) > 0 {
			a.next[i] |= hasWords
		}
	}
}

// each calls hit with the number of every word in the text and the place after it.
func (a *automaton) each(text string, hit func(word uint16, end int)) { a.follow(0, text, hit) }

// follow is each for a text that goes on where another one ended: in the state that its end was. It gives the state of this end.
func (a *automaton) follow(state uint32, text string, hit func(word uint16, end int)) uint32 {
	for i := range len(text) {
		state = a.next[state+uint32(a.class[text[i]])]
		if state&hasWords != 0 {
			state &^= hasWords
			for _, w := range a.words[state/a.width] {
				hit(w, i+1)
			}
		}
	}
	return state
}

// has says whether any word is in the text.
func (a *automaton) has(text string) bool {
	state := uint32(0)
	for i := range len(text) {
		if state = a.next[state+uint32(a.class[text[i]])]; state&hasWords != 0 {
			return true
		}
	}
	return false
}
