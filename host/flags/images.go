package flags

import (
	"errors"
	"fmt"
	"io"
	"os"

	"agent/host/input"
	"agent/recovery/journal"
)

// readImages reads the pictures that go with a prompt.
func readImages(files []string) ([]journal.Image, error) {
	if err := input.CheckPictures(len(files)); err != nil {
		return nil, fmt.Errorf("--image: %v", err)
	}
	var out []journal.Image
	for _, name := range files {
		m, err := readImage(name)
		if err != nil {
			return nil, fmt.Errorf("--image %s: %v", name, err)
		}
		out = append(out, m)
	}
	return out, nil
}

func readImage(name string) (journal.Image, error) {
	info, err := os.Stat(name)
	if err != nil {
		return journal.Image{}, errors.Unwrap(err)
	}
	if !info.Mode().IsRegular() {
		return journal.Image{}, errors.New("it is not a file")
	}
	f, err := os.Open(name)
	if err != nil {
		return journal.Image{}, errors.Unwrap(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, input.MaxPicture+1))
	if err != nil {
		return journal.Image{}, err
	}
	media, err := input.Picture(data)
	return journal.Image{Media: media, Data: data}, err
}

// Pictures are those that files have, with others that came in another way.
func Pictures(have []journal.Image, more [][]byte) ([]journal.Image, error) {
	for i, data := range more {
		media, err := input.Picture(data)
		if err != nil {
			return nil, fmt.Errorf("picture %d: %v", i+1, err)
		}
		have = append(have, journal.Image{Media: media, Data: data})
	}
	return have, nil
}
