package flags

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"

	"agent/recovery/journal"
)

// The pictures of one prompt: providers refuse larger ones.
const (
	maxImages = 20
	maxImage  = 5 << 20
)

// readImages reads pictures. What a file is, its first bytes say.
func readImages(files []string) ([]journal.Image, error) {
	if len(files) > maxImages {
		return nil, fmt.Errorf("--image: %d pictures; at most %d go with a prompt", len(files), maxImages)
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
	data, err := io.ReadAll(io.LimitReader(f, maxImage+1))
	if err != nil {
		return journal.Image{}, err
	}
	if len(data) > maxImage {
		return journal.Image{}, fmt.Errorf("it is larger than %d MiB", maxImage>>20)
	}
	media := http.DetectContentType(data)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, media) {
		return journal.Image{}, errors.New("it is no png, jpeg, gif or webp picture")
	}
	return journal.Image{Media: media, Data: data}, nil
}
