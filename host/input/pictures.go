package input

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// The pictures of one prompt: providers refuse larger ones.
const (
	MaxPictures = 20
	MaxPicture  = 5 << 20 // bytes
)

// CheckPictures refuses more pictures than go with one prompt.
func CheckPictures(count int) error {
	if count > MaxPictures {
		return fmt.Errorf("%d pictures; at most %d go with a prompt", count, MaxPictures)
	}
	return nil
}

// Picture is the media type of a picture, as its first bytes say it.
func Picture(data []byte) (media string, err error) {
	if len(data) > MaxPicture {
		return "", fmt.Errorf("it is larger than %d MiB", MaxPicture>>20)
	}
	media = http.DetectContentType(data)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, media) {
		return "", errors.New("it is no png, jpeg, gif or webp picture")
	}
	return media, nil
}
