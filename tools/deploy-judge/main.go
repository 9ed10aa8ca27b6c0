// Judges what deployments are made from, with the libraries that container tools themselves use:
//
//	deploy-judge image LAYOUT ARCHIVE   validates an OCI image layout, and writes its file system as an archive
//	deploy-judge compose FILE           loads a compose file strictly, and prints its services
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func main() {
	if err := judge(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judge(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "image":
		return judgeImage(args[1], args[2])
	case len(args) == 2 && args[0] == "compose":
		return judgeCompose(args[1])
	}
	return fmt.Errorf("usage: deploy-judge image LAYOUT ARCHIVE | compose FILE")
}

func judgeImage(folder, archive string) error {
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return err
	}
	if err := validate.Index(index); err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	if len(manifest.Manifests) != 1 {
		return fmt.Errorf("%d images instead of one", len(manifest.Manifests))
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		return err
	}
	target, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer target.Close()
	files := mutate.Extract(image)
	defer files.Close()
	if _, err := io.Copy(target, files); err != nil {
		return err
	}
	fmt.Println(manifest.Manifests[0].Digest)
	return nil
}

func judgeCompose(file string) error {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithInterpolation(true))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	names := project.ServiceNames()
	sort.Strings(names)
	fmt.Println(strings.Join(names, " "))
	return nil
}
