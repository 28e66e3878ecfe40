package runner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrSpoolDamaged is returned by Output where the spool is not what the exit record says. What is
// there is returned with it.
var ErrSpoolDamaged = errors.New("the spool is not what the exit record says")

// Output reads at most max bytes of what the command printed: all of it as head, or the first and
// the last half. total counts the bytes produced, as far as is known; truncated says that some of
// them are not returned.
func Output(folder string, max int64) (head, tail []byte, total int64, truncated bool, err error) {
	list, err := parts(folder)
	if err != nil {
		return nil, nil, 0, false, fmt.Errorf("read output: %w", err)
	}
	kept := int64(0)
	for _, p := range list {
		kept += p.size
		total = p.offset + p.size
	}
	gap := total > kept
	damaged := checkSpool(folder, &total)
	first, last := max/2, max-max/2
	if kept <= max && !gap {
		first, last = kept, 0
	}
	if head, err = readHead(list, first); err == nil {
		tail, err = readTail(list, last, int64(len(head)))
	}
	if err != nil {
		return nil, nil, 0, false, fmt.Errorf("read output: %w", err)
	}
	if damaged != nil {
		err = fmt.Errorf("read output: %w", damaged)
	}
	return head, tail, total, total > int64(len(head)+len(tail)), err
}

// checkSpool compares the spool with the exit record, where there is one, and takes the total from
// it.
func checkSpool(folder string, total *int64) error {
	var e Exit
	if readRecord(folder, exitName, &e) != nil {
		return nil // it runs, or its end is unknown: Inspect says so
	}
	*total = e.Output
	d, err := digest(folder)
	if err != nil {
		return err
	}
	if d != e.Digest {
		return ErrSpoolDamaged
	}
	return nil
}

// readHead reads up to n bytes from the beginning, as far as they are without a gap.
func readHead(list []part, n int64) ([]byte, error) {
	var head []byte
	for _, p := range list {
		left := n - int64(len(head))
		if left == 0 || p.offset != int64(len(head)) {
			break
		}
		b, err := readPart(p, 0, min(p.size, left))
		if err != nil {
			return nil, err
		}
		head = append(head, b...)
	}
	return head, nil
}

// readTail reads up to n bytes before the end, without a gap and without what the head has.
func readTail(list []part, n, from int64) ([]byte, error) {
	var tail []byte
	for i := len(list) - 1; i >= 0; i-- {
		p := list[i]
		start := max(p.size-(n-int64(len(tail))), from-p.offset, 0)
		if start >= p.size {
			break
		}
		b, err := readPart(p, start, p.size-start)
		if err != nil {
			return nil, err
		}
		tail = append(b, tail...)
		if start > 0 || i > 0 && list[i-1].offset+list[i-1].size != p.offset {
			break
		}
	}
	return tail, nil
}

// readPart reads n bytes of one file from start. A segment that was just dropped reads as nothing.
func readPart(p part, start, n int64) ([]byte, error) {
	f, err := os.Open(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	got, err := f.ReadAt(b, start)
	if cerr := f.Close(); err == nil || errors.Is(err, io.EOF) {
		err = cerr
	}
	return b[:got], err
}

// showFrom emits what the spool has from offset from on, and returns the offset behind it.
func showFrom(folder string, from int64, emit func([]byte)) (int64, error) {
	list, err := parts(folder)
	if err != nil {
		return from, err
	}
	for _, p := range list {
		if p.offset+p.size <= from {
			continue
		}
		if p.offset > from {
			emit(fmt.Appendf(nil, "\n[%d bytes of output are not kept]\n", p.offset-from))
			from = p.offset
		}
		if from, err = showPart(p, from, emit); err != nil {
			return from, err
		}
	}
	return from, nil
}

func showPart(p part, from int64, emit func([]byte)) (int64, error) {
	f, err := os.Open(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return from, nil // dropped meanwhile; the next round says so
	}
	if err != nil {
		return from, err
	}
	buf := make([]byte, 64<<10)
	for err == nil {
		var n int
		n, err = f.ReadAt(buf, from-p.offset)
		if n > 0 {
			emit(buf[:n])
			from += int64(n)
		}
	}
	if cerr := f.Close(); errors.Is(err, io.EOF) {
		err = cerr
	}
	return from, err
}
