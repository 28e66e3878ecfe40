package log

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	largest   = 128 << 20 // bytes of an entry: twice what a driver may ask for
	long      = 256 << 10 // bytes of an entry for which a server may hang up that has no place for it
	conflicts = 6         // times that an object is put where the server could not decide
	reads     = 4         // times that something is read where the server asks for patience
)

// bucket keeps logs in a bucket: prefix/namespace/root/entry. An entry is put on the condition that
// there is none ("If-None-Match: *"), which the server decides. Nothing is ever replaced.
type bucket struct {
	name   string
	prefix string     // of the namespace, with a slash at its end
	write  minio.Core // sends each request once
	read   minio.Core
	idle   func() // closes the connections that nothing uses
}

func openBucket(ctx context.Context, url, namespace string) (Log, error) {
	b, err := dialBucket(ctx, url, namespace)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	if err := b.prove(ctx); err != nil {
		b.idle()
		return nil, fmt.Errorf("open the log: bucket %s at %s: %w", b.name, b.write.EndpointURL().Host, err)
	}
	return b, nil
}

// entryName has the place for people, and behind which places it comes: a listing begins with the
// highest place, so that the last one is found by one request, however long the log is.
func entryName(place int64) string { return fmt.Sprintf("%019d-%d", math.MaxInt64-place, place) }

func placeOf(name string) (place int64, ok bool) {
	_, number, _ := strings.Cut(name, "-")
	place, err := strconv.ParseInt(number, 10, 64)
	return place, err == nil && entryName(place) == name
}

func (b *bucket) key(root string, place int64) string {
	return b.prefix + root + "/" + entryName(place)
}

func (b *bucket) Create(ctx context.Context, root string, place int64, entry []byte) error {
	if err := check(root, place); err != nil {
		return err
	}
	key := b.key(root, place)
	if len(entry) > long {
		if _, err := b.read.StatObject(ctx, b.name, key, minio.StatObjectOptions{}); err == nil {
			return ErrTaken
		}
	}
	return b.create(ctx, key, entry)
}

// create puts an object unless there is one. An answer that gets lost is not asked for again here:
// the second request would find what the first one stored, and say that it is taken.
func (b *bucket) create(ctx context.Context, key string, data []byte) error {
	once := minio.PutObjectOptions{DisableContentSha256: true} // of pieces: the sum of all is sent
	once.SetMatchETagExcept("*")
	brief, sum := md5.Sum(data), sha256.Sum256(data) // a bucket with object lock wants the brief one
	for try := 1; ; try++ {
		done, err := b.write.PutObject(ctx, b.name, key, bytes.NewReader(data), int64(len(data)),
			base64.StdEncoding.EncodeToString(brief[:]), hex.EncodeToString(sum[:]), once)
		switch answer := minio.ToErrorResponse(err); {
		case err == nil && done.ETag == "":
			return errors.New("the answer is not that of a bucket: it names no ETag")
		case err == nil:
			return nil
		case answer.StatusCode == http.StatusPreconditionFailed:
			return ErrTaken
		case !undecided(answer) || try == conflicts:
			return shown(err)
		}
		// Another request for this object was under way, and this one has stored nothing.
		select {
		case <-time.After(10 * time.Millisecond << try):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// undecided says whether the server stored nothing, and asks to be asked again.
func undecided(answer minio.ErrorResponse) bool {
	return answer.StatusCode == http.StatusConflict && (answer.Code == "ConditionalRequestConflict" || answer.Code == "OperationAborted")
}

func (b *bucket) Read(ctx context.Context, root string, place int64) ([]byte, error) {
	if err := check(root, place); err != nil {
		return nil, err
	}
	return b.get(ctx, b.key(root, place))
}

func (b *bucket) get(ctx context.Context, key string) ([]byte, error) {
	body, object, _, err := b.read.GetObject(ctx, b.name, key, minio.GetObjectOptions{})
	if err != nil {
		// A page that was not found somewhere on the way is no answer of the bucket.
		if answer := minio.ToErrorResponse(err); answer.Code == minio.NoSuchKey && answer.XMLName.Local != "" {
			return nil, ErrNone
		}
		return nil, shown(err)
	}
	defer body.Close() // it was read, or is not wanted
	var data []byte
	if object.Size <= largest {
		data, err = io.ReadAll(io.LimitReader(body, largest+1))
	}
	switch {
	case err != nil:
		return nil, shown(err)
	case object.Size > largest || len(data) > largest:
		return nil, fmt.Errorf("the object %s is larger than %d MiB: it is no entry", key, largest>>20)
	}
	return data, nil
}

func (b *bucket) Last(ctx context.Context, root string) (int64, error) {
	if err := CheckRoot(root); err != nil {
		return 0, err
	}
	folder, last := b.prefix+root+"/", int64(0)
	err := b.list(ctx, minio.ListObjectsOptions{Prefix: folder, Recursive: true, MaxKeys: 1}, func(key string) bool {
		place, ok := placeOf(strings.TrimPrefix(key, folder))
		if ok {
			last = place
		}
		return !ok
	})
	return last, err
}

func (b *bucket) Roots(ctx context.Context, each func(root string) error) error {
	var roots []string
	err := b.list(ctx, minio.ListObjectsOptions{Prefix: b.prefix}, func(key string) bool {
		root, folder := strings.CutSuffix(strings.TrimPrefix(key, b.prefix), "/")
		if folder && CheckRoot(root) == nil {
			roots = append(roots, root)
		}
		return true
	})
	if err != nil {
		return err
	}
	slices.Sort(roots) // a listing has r-a-b/ before r-a/
	for _, root := range roots {
		if err := each(root); err != nil {
			return err
		}
	}
	return nil
}

// list gives the keys of objects, and of folders with a slash at their end, while they are wanted.
func (b *bucket) list(ctx context.Context, what minio.ListObjectsOptions, wanted func(key string) bool) error {
	what.FetchOwner = new(false)
	for object := range b.read.ListObjectsIter(ctx, b.name, what) {
		if object.Err != nil {
			return shown(object.Err)
		}
		if !wanted(object.Key) {
			return nil
		}
	}
	return ctx.Err() // a listing that was stopped ends like a whole one
}

func (b *bucket) Close() error {
	b.idle()
	return nil
}

// prove has the bucket show that it can hold a log. Its test object is never removed: a host need
// not have the right to.
func (b *bucket) prove(ctx context.Context) error {
	key := b.prefix + ".probe/object"
	mine, other := rand.Text(), rand.Text()
	err := b.create(ctx, key, []byte(mine))
	first := err == nil
	if first {
		err = b.create(ctx, key, []byte(other))
	}
	switch {
	case err == nil:
		return errors.New("it replaced an object although it was asked not to, so two hosts could take one place: it ignores If-None-Match, and cannot hold a log; take a server that knows it, such as Amazon S3 or MinIO, or --log postgres://HOST/DATABASE")
	case !errors.Is(err, ErrTaken):
		return advised(err)
	}
	there, err := b.get(ctx, key)
	if err != nil {
		return advised(err)
	}
	if first && string(there) != mine {
		return errors.New("it replaced an object and answered that it did not: it cannot hold a log")
	}
	listed := false
	err = b.list(ctx, minio.ListObjectsOptions{Prefix: b.prefix + ".probe/", Recursive: true}, func(found string) bool {
		listed = found == key
		return !listed
	})
	switch {
	case err != nil:
		return advised(err)
	case !listed:
		return errors.New("it does not list an object that it stored: it cannot hold a log")
	}
	return nil
}
