//go:build !linux

package db

import "testing"

func mountReadOnly(t *testing.T, _ string)    { t.Skip("needs Linux") }
func smallDisk(t *testing.T, _ string) string { t.Skip("needs Linux"); return "" }
func smallExt4(t *testing.T, _ int64) string  { t.Skip("needs Linux"); return "" }
