package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/copies"
	"agent/host/view"
)

const backupHelp = `Makes one file of the whole state folder while runs go on: all runs with
their facts, outputs and kept files. FILE must not be there yet; without it
the file gets a name of today in this folder. agent restore FILE makes a
state folder of it. Never copy agent.db alone: what was recorded last lies
beside it.

The key that opens secrets and kept files is left out. With --to it is in the
backup, sealed: to a public key, or to passphrase, for which it asks.

EXAMPLE
   agent backup
   agent backup --new-key ~/agent-restore.key
   agent backup /mnt/disk/agent.backup --to agent-public-1-…
   agent backup --to passphrase

EXIT STATUS
   0 made, 1 not made and nothing left behind, 2 wrong usage`

type backupCommand struct{ *commandLine }

func (a backupCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "backup",
		Usage:       "make one file of all runs, while they go on",
		ArgsUsage:   "[FILE]",
		Description: backupHelp,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "seal the key in it to `KEY`: a public key, a file that holds one, or passphrase"},
			&cli.StringFlag{Name: "new-key", Usage: "only make a pair of keys: `FILE` gets the private one, and the public one is printed"},
			jsonFlag(),
		},
		Action: a.run,
	}
}

func (a backupCommand) run(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() > 1 {
		return app.Usage(errors.New("name one file: agent backup FILE"))
	}
	if path := c.String("new-key"); path != "" {
		return a.newKey(c, path)
	}
	to, err := a.recipient(ctx, c.String("to"))
	if err != nil {
		return err
	}
	s, err := a.open(ctx, app.Read)
	if err != nil {
		return noState(err, "backup")
	}
	here, err := a.Dir()
	if err != nil {
		return errors.Join(err, s.close())
	}
	m, err := copies.Backup(ctx, s.Folder, c.Args().First(), here, to)
	if err := errors.Join(err, s.close()); err != nil {
		return err
	}
	a.print(c, m, func() {
		a.Say(a.Out, "%s", m.Path)
		a.Say(a.Err, "%s", m.Text())
	})
	return nil
}

func (a backupCommand) newKey(c *cli.Command, path string) error {
	if c.Args().Len() > 0 || c.String("to") != "" {
		return app.Usage(errors.New("--new-key goes alone: it makes a pair of keys and no backup"))
	}
	public, err := copies.NewKey(path)
	if err != nil {
		return err
	}
	a.print(c, view.KeyPair{Version: 1, Public: public, Private: path}, func() {
		a.Say(a.Out, "%s", public)
		a.Say(a.Err, "the private key is in %s: keep it where the backups are not\nback up with:  agent backup --to %s\nrestore with:  agent restore FILE --key %s", path, public, view.ShellWord(path))
	})
	return nil
}

// recipient reads who the key is sealed to; nil for nobody.
func (a backupCommand) recipient(ctx context.Context, to string) (*copies.Recipient, error) {
	switch to {
	case "":
		return nil, nil
	case "passphrase":
		text, err := a.passphrase(ctx, true)
		if err != nil {
			return nil, err
		}
		return copies.ToPassphrase(text)
	}
	r, err := copies.ToKey(to)
	if err != nil {
		return nil, app.Usage(err)
	}
	return r, nil
}

// passphrase asks for one at the terminal; for a new one twice.
func (a *commandLine) passphrase(ctx context.Context, anew bool) (string, error) {
	t, err := a.Desk.Open()
	if err != nil {
		return "", fmt.Errorf("ask for the passphrase: %w; use a pair of keys instead: agent backup --new-key FILE", err)
	}
	defer t.Close()
	text, err := t.Secret(ctx, "passphrase")
	if err != nil || !anew {
		return text, err
	}
	again, err := t.Secret(ctx, "the same again")
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", errors.New("an empty passphrase seals nothing")
	case text != again:
		return "", errors.New("the two passphrases are not the same")
	}
	return text, nil
}
