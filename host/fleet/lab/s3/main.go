// S3-server is Versity's S3 gateway as one process on a folder: the bucket of the lab. Its only
// account has the key and the secret of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:9000", "`ADDRESS` that it listens on")
	folder := flag.String("dir", "", "`FOLDER` with the buckets, which are folders in it")
	bucket := flag.String("bucket", "", "`NAME` of a bucket that is made where it is missing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *listen, *folder, *bucket); err != nil {
		fmt.Fprintln(os.Stderr, "s3-server:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, listen, folder, bucket string) error {
	if err := os.MkdirAll(filepath.Join(folder, bucket), 0o700); err != nil {
		return err
	}
	attributes := meta.XattrMeta{} // an object and its attributes appear at once
	if err := attributes.Test(folder); err != nil {
		return fmt.Errorf("%s is on no file system with attributes of users: %w", folder, err)
	}
	files, err := posix.New(folder, attributes, posix.PosixOpts{})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, files, &embedgw.Config{
		RootUserAccess: os.Getenv("AWS_ACCESS_KEY_ID"), RootUserSecret: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		Ports: []string{listen}, MaxConnections: 1000, MaxRequests: 1000, MultipartMaxParts: 10_000,
		KeepAlive: true, Quiet: true,
	})
}
