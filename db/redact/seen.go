package redact

// seen are the words of rules in a text that grows at its end and is forgotten from its beginning,
// as a stream's does. With every piece of it the text is looked at again, and is gone over for
// words only where it is new: they are few, and it is long.
type seen struct {
	state uint32 // of the automaton, at to
	to    int    // up to here the text was gone over
	words []seenWord
}

// seenWord is a word, and the place after it.
type seenWord struct {
	word uint16
	end  int
}

// each calls hit as the automaton of p would for the whole text. It must begin as the text of the
// call before.
func (s *seen) each(p *patterns, text string, hit func(word uint16, end int)) {
	if s.to < len(text) {
		from := s.to
		s.state = p.words.follow(s.state, text[from:], func(word uint16, end int) {
			s.words = append(s.words, seenWord{word, from + end})
		})
		s.to = len(text)
	}
	for _, w := range s.words {
		if w.end <= len(text) && w.end >= p.sizes[w.word] {
			hit(w.word, w.end)
		}
	}
}

// drop forgets the first n bytes of the text.
func (s *seen) drop(n int) {
	if s.to < n {
		*s = seen{}
		return
	}
	s.to -= n
	rest := s.words[:0]
	for _, w := range s.words {
		if w.end -= n; w.end > 0 {
			rest = append(rest, w)
		}
	}
	s.words = rest
}
