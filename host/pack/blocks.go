package pack

import (
	"bufio"
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	blockSize  = 64 << 10  // of content in a block, bytes
	headerSize = 16 << 10  // at most
	lineSize   = 256 << 20 // of a record, at most: a content may have 8 MiB, a body some more
	keySize    = 32
)

// DamageError says that a file is no pack, or not as it was made.
type DamageError struct{ What string }

func (e *DamageError) Error() string { return e.What }

// Writer makes a pack.
type Writer struct {
	blocks  *blockWriter
	deflate *flate.Writer
	lines   *bufio.Writer
	records int64
}

// NewWriter begins a pack: h says what it is, to whom it is sealed; nil for nobody.
func NewWriter(w io.Writer, h Header, to *Address) (*Writer, error) {
	h.Version = Version
	key := make([]byte, keySize)
	rand.Read(key) // never fails: crypto/rand ends the process instead
	if err := h.seal(to, key); err != nil {
		return nil, err
	}
	line, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("write the head of the pack: %w", err)
	}
	line = append(line, '\n')
	if _, err := w.Write(line); err != nil {
		return nil, err
	}
	b := &blockWriter{w: w, blocks: newBlocks(key, line)}
	deflate, err := flate.NewWriter(b, flate.DefaultCompression)
	if err != nil {
		return nil, fmt.Errorf("begin the pack: %w", err)
	}
	return &Writer{blocks: b, deflate: deflate, lines: bufio.NewWriterSize(deflate, blockSize)}, nil
}

// Write adds a record.
func (w *Writer) Write(r Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write the pack: %w", err)
	}
	w.records++
	_, err = w.lines.Write(append(line, '\n'))
	return err
}

// Close ends the pack. What is under it stays open.
func (w *Writer) Close() error {
	if err := w.Write(Record{End: &End{Records: w.records}}); err != nil {
		return err
	}
	if err := w.lines.Flush(); err != nil {
		return err
	}
	if err := w.deflate.Close(); err != nil {
		return err
	}
	return w.blocks.end()
}

// blocks seal and open the blocks of one pack.
type blocks struct {
	aead  cipher.AEAD
	bound []byte // to the header
	n     uint64
}

func newBlocks(key, header []byte) blocks {
	sum := sha256.Sum256(header)
	b := blocks{bound: sum[:]}
	block, err := aes.NewCipher(key)
	if err == nil {
		b.aead, err = cipher.NewGCM(block)
	}
	if err != nil {
		panic(err) // the key has the right length
	}
	return b
}

func (b *blocks) nonce(last bool) []byte {
	nonce := make([]byte, b.aead.NonceSize())
	if last {
		nonce[0] = 1
	}
	binary.BigEndian.PutUint64(nonce[len(nonce)-8:], b.n)
	b.n++
	return nonce
}

type blockWriter struct {
	w io.Writer
	blocks
	held []byte
}

func (b *blockWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(b.held)+len(p) > blockSize {
		k := blockSize - len(b.held)
		b.held, p = append(b.held, p[:k]...), p[k:]
		if err := b.put(false); err != nil {
			return 0, err
		}
	}
	b.held = append(b.held, p...)
	return n, nil
}

func (b *blockWriter) put(last bool) error {
	sealed := b.aead.Seal(make([]byte, 4), b.nonce(last), b.held, b.bound)
	binary.BigEndian.PutUint32(sealed, uint32(len(sealed)-4))
	b.held = b.held[:0]
	_, err := b.w.Write(sealed)
	return err
}

func (b *blockWriter) end() error { return b.put(true) }

// Reader reads a pack.
type Reader struct {
	Header Header

	in      *bufio.Reader
	content *bufio.Reader // unpacked
	records int64
	blockReader
}

// NewReader reads the header. The content is opened with Open.
func NewReader(r io.Reader) (*Reader, error) {
	in := bufio.NewReaderSize(r, headerSize)
	line, err := in.ReadSlice('\n')
	if err != nil && err != io.EOF && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	out := &Reader{in: in}
	if err != nil || json.Unmarshal(line, &out.Header) != nil || out.Header.Version < 1 {
		return nil, &DamageError{"it is no pack of agent export"}
	}
	if out.Header.Version > Version {
		return nil, &DamageError{fmt.Sprintf("it was made by a newer version (%d of the form; this one knows %d)", out.Header.Version, Version)}
	}
	out.line = bytes.Clone(line)
	return out, nil
}

// Open opens the content with the key of the store that the pack is sealed to. ErrSealed says that
// it is another one.
func (r *Reader) Open(private *ecdh.PrivateKey) error {
	key, err := r.Header.open(private)
	if err != nil {
		return err
	}
	if len(key) != keySize {
		return &DamageError{"its key is damaged"}
	}
	r.blockReader = blockReader{in: r.in, line: r.line, blocks: newBlocks(key, r.line)}
	r.content = bufio.NewReaderSize(flate.NewReader(&r.blockReader), blockSize)
	return nil
}

type blockReader struct {
	in   *bufio.Reader
	line []byte // of the header
	blocks
	left []byte
	last bool
}

func (b *blockReader) Read(p []byte) (int, error) {
	for len(b.left) == 0 {
		if b.last {
			return 0, io.EOF
		}
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.left)
	b.left = b.left[n:]
	return n, nil
}

// next opens a block. Which is the last one only its nonce says.
func (b *blockReader) next() error {
	var size [4]byte
	if _, err := io.ReadFull(b.in, size[:]); err != nil {
		return cutOff(err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > blockSize+uint32(b.aead.Overhead()) {
		return &DamageError{"a block of it is damaged"}
	}
	sealed := make([]byte, n)
	if _, err := io.ReadFull(b.in, sealed); err != nil {
		return cutOff(err)
	}
	nonce := b.nonce(false)
	var err error
	if b.left, err = b.aead.Open(nil, nonce, sealed, b.bound); err == nil {
		return nil
	}
	nonce[0] = 1
	if b.left, err = b.aead.Open(nil, nonce, sealed, b.bound); err != nil {
		return &DamageError{"a block of it was changed"}
	}
	b.last = true
	if _, err := b.in.ReadByte(); err != io.EOF {
		return &DamageError{"something stands behind its end"}
	}
	return nil
}

func cutOff(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return &DamageError{"it is cut off"}
	}
	return err
}

// Next gives the next record; io.EOF after End.
func (r *Reader) Next() (out Record, err error) {
	line, err := r.readLine()
	if err == io.EOF && len(line) == 0 && r.records < 0 {
		return out, io.EOF
	}
	var damage *DamageError
	if errors.As(err, &damage) {
		return out, damage
	}
	if err != nil || r.records < 0 {
		return out, &DamageError{"it does not end as a pack does"}
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil || out.members() != 1 {
		return Record{}, &DamageError{"a record of it is not known to this version"}
	}
	if out.End != nil {
		if out.End.Records != r.records {
			return Record{}, &DamageError{"records of it are missing"}
		}
		r.records = -1
		return out, nil
	}
	r.records++
	return out, nil
}

// readLine reads a line of limited length.
func (r *Reader) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := r.content.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		case len(line) > lineSize:
			return nil, &DamageError{"a record of it is too long"}
		}
	}
}

func (r *Record) members() (n int) {
	for _, is := range []bool{r.About != nil, r.Thread != nil, r.Kept != nil, r.Body != nil, r.Secret != nil, r.Environ != nil, r.Run != nil,
		r.Fact != nil, r.End != nil} {
		if is {
			n++
		}
	}
	return n
}
