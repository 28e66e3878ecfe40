package objects

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// extensions reads what follows the entries. What is only for speed is passed over; what is needed
// and not known is refused, as git does.
func (ix *index) extensions(b []byte, idLen int) error {
	for len(b) > 0 {
		if len(b) < 8 {
			return errIndex
		}
		name, size := string(b[:4]), int64(binary.BigEndian.Uint32(b[4:]))
		if size > int64(len(b)-8) {
			return errIndex
		}
		content := b[8 : 8+size]
		b = b[8+size:]
		switch {
		case name == "link":
			if err := ix.link(content, idLen); err != nil {
				return err
			}
		case name == "sdir":
			ix.sparse = true
		case name[0] < 'A' || name[0] > 'Z':
			return fmt.Errorf("%w: it needs %q, which is not known", errIndex, name)
		}
	}
	return nil
}

// link reads how a split index differs from what it shares.
func (ix *index) link(b []byte, idLen int) error {
	if len(b) < idLen {
		return errIndex
	}
	zero := true
	for _, c := range b[:idLen] {
		zero = zero && c == 0
	}
	if zero {
		return nil // it shares nothing
	}
	ix.base = hex.EncodeToString(b[:idLen])
	if b = b[idLen:]; len(b) == 0 {
		return nil
	}
	var err error
	if ix.deleted, b, err = bitmap(b); err != nil {
		return err
	}
	if ix.changed, b, err = bitmap(b); err != nil {
		return err
	}
	if len(b) > 0 {
		return errIndex
	}
	return nil
}

// maxBits bounds a bitmap: an index cannot hold more entries.
const maxBits = maxIndex / 63

// bitmap reads a compressed bitmap (EWAH, gitformat-bitmap, appendix A), and returns the bits that
// are set and what follows.
func bitmap(b []byte) (set []int, rest []byte, err error) {
	if len(b) < 8 {
		return nil, nil, errIndex
	}
	bits, words := int64(binary.BigEndian.Uint32(b)), int64(binary.BigEndian.Uint32(b[4:]))
	if b = b[8:]; bits > maxBits || words > int64(len(b)/8) || int64(len(b)) < words*8+4 {
		return nil, nil, errIndex
	}
	word := func(i int64) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	at := int64(0) // bit
	for i := int64(0); i < words; {
		marker := word(i)
		run, literal := int64(marker>>1&0xffffffff)*64, int64(marker>>33)
		i++
		if at+run > bits+63 || literal > words-i {
			return nil, nil, errIndex
		}
		for ; marker&1 != 0 && run > 0; run-- {
			set = append(set, int(at))
			at++
		}
		at += run
		for ; literal > 0; literal-- {
			for n := range int64(64) {
				if word(i)>>n&1 != 0 {
					set = append(set, int(at+n))
				}
			}
			at, i = at+64, i+1
			if at > bits+63 {
				return nil, nil, errIndex
			}
		}
	}
	return set, b[words*8+4:], nil
}
