package redact

// automaton finds many words in one pass (Aho and Corasick 1975), without regard to ASCII case, as
// a table of states by classes of bytes. A whole text is followed only from where a word may begin,
// as a table of bits says of three bytes at a time.
type automaton struct {
	class [256]uint8
	fold  [256]uint8
	begin [1024]uint64 // the first three bytes of words, see triple
	next  []uint32     // state, multiplied by the number of classes; with the flags of that state
	words [][]uint16
	width uint32
}

// The flags of a state.
const (
	hasWords = 1 << 31 // words end there
	shallow  = 1 << 30 // at most one byte of a word is before it
	flags    = hasWords | shallow
)

// triple is the place of three bytes in the table of bits.
func triple(bytes uint32) uint32 { return bytes << 8 * 0x9E3779B1 >> 16 }

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
	for c := range a.fold {
		a.fold[c] = uint8(c)
	}
	for c := byte('a'); c <= 'z'; c++ {
		a.class[c-'a'+'A'] = a.class[c]
		a.fold[c-'a'+'A'] = c
	}
	states := 1
	for _, w := range words {
		states += len(w)
	}
	a.next, a.words = make([]uint32, 0, states*int(a.width)), make([][]uint16, 0, states)
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
	for _, w := range words {
		a.mark(w)
	}
	return a
}

// mark notes how a word begins. After one of two bytes any byte may come, and no byte is as good as
// a zero.
func (a *automaton) mark(word string) {
	for third := range uint32(256) {
		if len(word) > 2 {
			third = uint32(word[2])
		}
		h := triple(uint32(word[0])<<16 | uint32(word[1])<<8 | third)
		a.begin[h>>6] |= 1 << (h & 63)
	}
}

func (a *automaton) grow() uint32 {
	state := len(a.next)
	a.next = a.next[:state+int(a.width)]
	a.words = append(a.words, nil)
	return uint32(state)
}

// link fills in where to go on when the next byte does not fit, from the shortest beginnings to the
// longest.
func (a *automaton) link() {
	fall := make([]uint32, len(a.words))
	flag := make([]uint32, len(a.words))
	flag[0] = shallow
	queue := make([]uint32, 0, len(a.words))
	for c := range a.width {
		if s := a.next[c]; s != 0 {
			flag[s/a.width] = shallow
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
	for n, words := range a.words {
		if len(words) > 0 {
			flag[n] |= hasWords
		}
	}
	for i, s := range a.next {
		a.next[i] |= flag[s/a.width]
	}
}

// each calls hit with the number of every word in the text and the place after it, until it says
// that this is enough. Every word has two bytes or more.
func (a *automaton) each(text string, hit func(word uint16, end int) (enough bool)) {
	for at := a.begins(text, 0); at < len(text); at = a.begins(text, at) {
		from, state := at, uint32(0)
		for ; at < len(text); at++ {
			state = a.next[state&^flags+uint32(a.class[text[at]])]
			if state&hasWords != 0 {
				for _, w := range a.words[state&^flags/a.width] {
					if hit(w, at+1) {
						return
					}
				}
			}
			if state&shallow != 0 && at > from+1 {
				break // the next word begins here at the earliest
			}
		}
	}
}

// begins gives the first place from at on where a word may begin, the text's end if nowhere.
func (a *automaton) begins(text string, at int) int {
	if len(text)-at < 2 {
		return len(text)
	}
	last := uint32(a.fold[text[at]])<<8 | uint32(a.fold[text[at+1]])
	for i := at + 2; i < len(text); i++ {
		last = last<<8 | uint32(a.fold[text[i]])
		if h := triple(last); a.begin[h>>6&1023]&(1<<(h&63)) != 0 {
			return i - 2
		}
	}
	if h := triple(last << 8); a.begin[h>>6]&(1<<(h&63)) != 0 {
		return len(text) - 2
	}
	return len(text)
}

// follow is each for a text that goes on where another one ended: in the state that its end was. It
// gives the state of this end.
func (a *automaton) follow(state uint32, text string, hit func(word uint16, end int)) uint32 {
	for i := range len(text) {
		state = a.next[state&^flags+uint32(a.class[text[i]])]
		if state&hasWords != 0 {
			for _, w := range a.words[state&^flags/a.width] {
				hit(w, i+1)
			}
		}
	}
	return state
}

// has says whether any word is in the text.
func (a *automaton) has(text string) (has bool) {
	a.each(text, func(uint16, int) bool {
		has = true
		return true
	})
	return has
}
