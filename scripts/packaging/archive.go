package main

import (
	"archive/tar"
	"bytes"
	"os"
	"path"
	"time"

	"github.com/klauspost/compress/gzip" // which stays the same with another Go
)

// file is one that goes into packages.
type file struct {
	path string // in the package
	mode int64
	data []byte
}

func readFile(from, to string, mode int64) (file, error) {
	data, err := os.ReadFile(from)
	return file{to, mode, data}, err
}

// archive writes the tar.gz of a target: one folder with all in it.
func (r *release) archive(t target, binary file) error {
	data, err := packed(r.name(t, ""), append([]file{binary}, r.common...), r.time)
	if err != nil {
		return err
	}
	return r.write(r.name(t, ".tar.gz"), data)
}

// packed is a tar.gz of files below a folder that says nothing of the machine that it is made on:
// nobody's files, of one time, compressed without name and time.
func packed(folder string, files []file, at time.Time) ([]byte, error) {
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	gz.ModTime = time.Unix(0, 0) // none; what this writer makes of no time is one
	w := tar.NewWriter(gz)
	for _, f := range files {
		h := &tar.Header{Name: path.Join(folder, f.path), Mode: f.mode, Size: int64(len(f.data)), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := gz.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// compressed is a file as manual pages are installed: Debian wants them as small as they get.
func compressed(data []byte) ([]byte, error) {
	var buf bytes.Buffer
	gz, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	gz.ModTime = time.Unix(0, 0)
	if _, err := gz.Write(data); err != nil {
		return nil, err
	}
	if err := gz.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
