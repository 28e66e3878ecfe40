package sqlitefile

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// State on a network file system is refused with the way out.
func TestNetworkFileSystems(t *testing.T) {
	for magic, name := range map[int64]string{unix.NFS_SUPER_MAGIC: "NFS", unix.SMB2_SUPER_MAGIC: "SMB2", unix.CIFS_SUPER_MAGIC: "CIFS",
		unix.FUSE_SUPER_MAGIC: "FUSE", unix.V9FS_MAGIC: "9p", unix.AFS_SUPER_MAGIC: "AFS", unix.CEPH_SUPER_MAGIC: "Ceph"} {
		err := checkMagic("/state", magic)
		if !errors.As(err, new(*FolderError)) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "AGENT_ALLOW_UNSAFE_FS=1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, magic := range []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC} {
		if err := checkMagic("/state", magic); err != nil {
			t.Error(err)
		}
	}
	if err := checkFileSystem(filepath.Join(t.TempDir(), "not", "there", "yet")); err != nil {
		t.Error(err)
	}
}
