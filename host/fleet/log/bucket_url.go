package log

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// address is what the URL of a bucket says. It holds no secret: those are in the environment.
type address struct {
	bucket, prefix string
	endpoint       string // host and port
	plain          bool   // without TLS
	region         string // "" to ask the server
}

// parseBucket reads s3://BUCKET/PREFIX?endpoint=URL&region=NAME. Its errors show no more of a URL
// than what cannot be a secret.
func parseBucket(text string) (address, error) {
	a := address{endpoint: "s3.amazonaws.com", region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Fragment != "" {
		return a, errors.New("that is no URL of a bucket: s3://BUCKET/PREFIX")
	}
	if u.User != nil {
		return a, errors.New("no key stands in the URL of a bucket: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY name it, or ~/.aws/credentials")
	}
	a.bucket, a.prefix = u.Host, strings.Trim(u.Path, "/")
	if err := checkBucket(a.bucket); err != nil {
		return a, err
	}
	if len(a.prefix) > 500 {
		return a, errors.New("the prefix in a bucket has at most 500 characters")
	}
	const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for part := range strings.SplitSeq(a.prefix, "/") {
		if a.prefix != "" && !named(part, letters, letters+"._-", 500) {
			return a, fmt.Errorf("%.80q cannot be a part of a prefix in a bucket: it has letters and digits, and behind the first one also . _ and -", part)
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return a, errors.New("the parameters in the URL of the bucket cannot be read")
	}
	return a, a.set(query)
}

func checkBucket(name string) error {
	if s3utils.IsS3ExpressBucket(name) {
		return fmt.Errorf("%s is a directory bucket, which lists objects in no order: a log wants a general purpose bucket", name)
	}
	if name == "" {
		return errors.New("no bucket is named: s3://BUCKET/PREFIX")
	}
	if err := s3utils.CheckValidBucketNameStrict(name); err != nil {
		return fmt.Errorf("%.80q cannot be a bucket: s3://BUCKET/PREFIX", name)
	}
	return nil
}

// set takes in the parameters of a URL.
func (a *address) set(query url.Values) error {
	for name, values := range query {
		if len(values) != 1 || values[0] == "" {
			return fmt.Errorf("parameter %.40q of the bucket has no value, or two", name)
		}
		switch name {
		case "region":
			if a.region = values[0]; !named(a.region, small, small+"-", 63) {
				return fmt.Errorf("%.80q cannot be a region: one looks like eu-west-1", a.region)
			}
		case "endpoint":
			e, err := url.Parse(values[0])
			if err != nil || e.User != nil || e.Host == "" || strings.Trim(e.Path, "/") != "" || e.RawQuery != "" || (e.Scheme != "https" && e.Scheme != "http") {
				return errors.New("the endpoint of the bucket is no URL such as https://minio.corp:9000")
			}
			a.endpoint, a.plain = e.Host, e.Scheme == "http"
		default:
			return fmt.Errorf("%.40q is no parameter of a bucket; endpoint=https://HOST:PORT and region=NAME are", name)
		}
	}
	return nil
}

// dialBucket prepares requests to a bucket, and sends none to it.
func dialBucket(ctx context.Context, text, namespace string) (*bucket, error) {
	a, err := parseBucket(text)
	if err != nil {
		return nil, err
	}
	keys, err := findKeys(ctx)
	if err != nil {
		return nil, err
	}
	transport, err := minio.DefaultTransport(!a.plain)
	if err != nil {
		return nil, shown(err)
	}
	b := &bucket{name: a.bucket, prefix: namespace + "/", idle: transport.CloseIdleConnections}
	if a.prefix != "" {
		b.prefix = a.prefix + "/" + b.prefix
	}
	options := minio.Options{Creds: keys, Secure: !a.plain, Transport: transport, Region: a.region, MaxRetries: 1}
	write, err := minio.NewCore(a.endpoint, &options)
	if err != nil {
		return nil, shown(err)
	}
	options.MaxRetries = reads
	read, err := minio.NewCore(a.endpoint, &options)
	if err != nil {
		return nil, shown(err)
	}
	b.write, b.read = *write, *read
	return b, nil
}

// findKeys finds credentials where the programs of AWS do: in the environment, in ~/.aws and at the
// machine's or the container's role. They are looked up again before they expire.
func findKeys(ctx context.Context) (*credentials.Credentials, error) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second) // where there is no role, nobody answers
	defer stop()
	keys := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
	})
	found, err := keys.GetWithContext(&credentials.CredContext{Context: ctx})
	if err != nil {
		return nil, shown(err)
	}
	if found.SignerType.IsAnonymous() {
		return nil, errors.New("there are no credentials for the bucket: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, write them to ~/.aws/credentials (AWS_PROFILE chooses there), or give this machine a role")
	}
	return keys, nil
}

// printable is an error with a text that a terminal can be given.
type printable struct {
	text string
	err  error
}

func (p *printable) Error() string { return p.text }
func (p *printable) Unwrap() error { return p.err }

// shown keeps what a server answers from a terminal, as far as it is no text.
func shown(err error) error {
	text := err.Error()
	if r := minio.ToErrorResponse(err); r.Code != "" {
		text = r.Code + ": " + text
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
	return &printable{fmt.Sprintf("%.400s", strings.TrimSuffix(text, ".")), err}
}

// advised says what to do about the answers that a wrong configuration gets.
func advised(err error) error {
	var answer minio.ErrorResponse
	_ = errors.As(err, &answer) // else it has no code
	switch answer.Code {
	case minio.NoSuchBucket:
		return fmt.Errorf("%w; make the bucket, or name another", err)
	case minio.AccessDenied:
		return fmt.Errorf("%w; a host needs s3:PutObject and s3:GetObject there, and s3:ListBucket", err)
	case minio.AuthorizationHeaderMalformed, minio.InvalidRegion, "PermanentRedirect", "IllegalLocationConstraintException":
		return fmt.Errorf("%w; ?region=NAME or AWS_REGION names the bucket's region", err)
	}
	return err
}
