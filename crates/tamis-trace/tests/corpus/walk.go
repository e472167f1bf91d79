// Walks a tree and reads every file, from several goroutines.
package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

func main() {
	var wait sync.WaitGroup
	filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			wait.Add(1)
			go func() {
				defer wait.Done()
				os.ReadFile(path)
				os.Stat(path + ".absent")
			}()
		}
		return nil
	})
	wait.Wait()
	if err := exec.Command("/bin/cat", "child-reads-this").Run(); err == nil {
		os.Exit(1)
	}
}
