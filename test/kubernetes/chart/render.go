// Renders a chart as Helm does, as far as our chart needs it, because Debian has no Helm: templates with sprig's functions,
// and Helm's own include, tpl, required, toYaml and so on. Reads a request as JSON from standard input, and writes the
// merged values, the objects of all manifests and the notes as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type values = map[string]interface{}

type request struct {
	Chart       string
	Values      values
	Release     string
	Namespace   string
	KubeVersion string
	// Such as policy/v1 and policy/v1/PodDisruptionBudget.
	APIVersions []string
}

type answer struct {
	Values  values        `json:"values"`
	Objects []interface{} `json:"objects"`
	Notes   string        `json:"notes"`
}

type apiVersions []string

func (versions apiVersions) Has(wanted string) bool {
	for _, version := range versions {
		if version == wanted {
			return true
		}
	}
	return false
}

// merge returns the defaults with what the user has set; null removes a default.
func merge(defaults, user values) values {
	merged := values{}
	for key, value := range defaults {
		merged[key] = value
	}
	for key, value := range user {
		inner, isMap := value.(values)
		below, wasMap := merged[key].(values)
		switch {
		case value == nil:
			delete(merged, key)
		case isMap && wasMap:
			merged[key] = merge(below, inner)
		default:
			merged[key] = value
		}
	}
	return merged
}

func toYaml(value interface{}) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

func functions(root *template.Template) template.FuncMap {
	all := sprig.TxtFuncMap()
	// Helm has taken these out.
	delete(all, "env")
	delete(all, "expandenv")
	all["toYaml"] = toYaml
	all["include"] = func(name string, data interface{}) (string, error) {
		var out strings.Builder
		err := root.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	all["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return value, fmt.Errorf("%s", message)
		}
		return value, nil
	}
	all["fail"] = func(message string) (string, error) { return "", fmt.Errorf("%s", message) }
	return all
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func readYaml(file string, into interface{}) {
	text, err := os.ReadFile(file)
	must(err)
	must(yaml.Unmarshal(text, into))
}

func main() {
	var asked request
	must(json.NewDecoder(os.Stdin).Decode(&asked))
	chart, defaults := values{}, values{}
	readYaml(filepath.Join(asked.Chart, "Chart.yaml"), &chart)
	readYaml(filepath.Join(asked.Chart, "values.yaml"), &defaults)
	merged := merge(defaults, asked.Values)
	described := values{}
	for key, value := range chart {
		described[strings.ToUpper(key[:1])+key[1:]] = value
	}

	root := template.New("chart").Option("missingkey=zero")
	root.Funcs(functions(root))
	files, err := filepath.Glob(filepath.Join(asked.Chart, "templates", "*"))
	must(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(err)
		_, err = root.New(filepath.Base(file)).Parse(string(text))
		must(err)
	}
	data := values{
		"Values":       merged,
		"Chart":        described,
		"Release":      values{"Name": asked.Release, "Namespace": asked.Namespace, "Service": "Helm"},
		"Capabilities": values{"APIVersions": apiVersions(asked.APIVersions), "KubeVersion": values{"Version": asked.KubeVersion}},
	}
	result := answer{Values: merged, Objects: []interface{}{}}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var out strings.Builder
		must(root.ExecuteTemplate(&out, name, data))
		text := strings.ReplaceAll(out.String(), "<no value>", "")
		if name == "NOTES.txt" {
			result.Notes = text
			continue
		}
		for _, document := range strings.Split("\n"+text, "\n---") {
			var object interface{}
			if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
				must(fmt.Errorf("%s: %w\n%s", name, err, document))
			}
			if object != nil {
				result.Objects = append(result.Objects, object)
			}
		}
	}
	must(json.NewEncoder(os.Stdout).Encode(result))
}
