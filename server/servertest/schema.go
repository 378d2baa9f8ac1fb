// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"bytes"
	stdjson "encoding/json" // for the Number that the validator wants
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/weir-mcp/weir/internal/host"
)

// checkSchema checks f against the JSON schema of its revision: the envelope,
// a result by the method of its request, a notification by its own method, an
// error by its code. It is nil where there is no schema.
func checkSchema(f Frame) error {
	s := schemaOf(f.Protocol)
	if s == nil {
		return nil
	}
	var whole map[string]any
	switch err := json.Unmarshal(f.Raw, &whole, exact); {
	case f.Kind == host.BatchResponse || f.Kind == host.Oversize:
		return nil // its members are frames too; it was not kept
	case err != nil:
		return err
	}
	// No schema allows the null of an error that has no id, nor an id such as
	// 1.5 or 1e3, which the server has to echo.
	if k := f.ID.Kind(); k == '0' || k == 'n' && f.Kind == host.ErrorResponse {
		whole["id"] = stdjson.Number("1")
	}
	switch f.Kind {
	case host.ResultResponse:
		result := resultNames[f.Answers]
		if result == "" {
			result = "Result"
		}
		if m, ok := whole["result"].(map[string]any); ok && m["resultType"] == "input_required" {
			result = "InputRequiredResult"
		}
		if err := s.validate(s.first("JSONRPCResultResponse", "JSONRPCResponse"), whole); err != nil {
			return err
		}
		return s.validate(result, whole["result"])
	case host.ErrorResponse:
		if name := errorNames[f.Err.Code]; s.has(name) {
			return s.validate(name, whole)
		}
		return s.validate(s.first("JSONRPCErrorResponse", "JSONRPCError"), whole)
	case host.Notification:
		name := s.notifications[f.Method]
		if name == "" {
			return fmt.Errorf("revision %s has no notification %q", f.Protocol, f.Method)
		}
		return s.validate(name, whole)
	}
	return s.validate("JSONRPCRequest", whole)
}

// resultNames are the schemas' names for the results of requests.
var resultNames = map[string]string{
	"initialize":               "InitializeResult",
	"ping":                     "EmptyResult",
	"server/discover":          "DiscoverResult",
	"subscriptions/listen":     "SubscriptionsListenResult",
	"tools/list":               "ListToolsResult",
	"tools/call":               "CallToolResult",
	"resources/list":           "ListResourcesResult",
	"resources/templates/list": "ListResourceTemplatesResult",
	"resources/read":           "ReadResourceResult",
	"prompts/list":             "ListPromptsResult",
	"prompts/get":              "GetPromptResult",
	"completion/complete":      "CompleteResult",
	"logging/setLevel":         "EmptyResult",
}

// errorNames are the schemas' names for errors whose data is prescribed.
var errorNames = map[int]string{
	-32020: "HeaderMismatchError",
	-32021: "MissingRequiredClientCapabilityError",
	-32022: "UnsupportedProtocolVersionError",
}

// exact decodes numbers into any without rounding.
var exact = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	n, err := dec.ReadValue()
	*v = stdjson.Number(n)
	return err
}))

// schema is the JSON schema of one revision.
type schema struct {
	url           string            // of the definitions, without their names
	definitions   map[string]bool   // their names
	notifications map[string]string // from method to definition

	mu       sync.Mutex // guards compiler and compiled
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

var schemas sync.Map // from revision to func() *schema

// schemaOf returns the schema of a revision, nil where there is none.
func schemaOf(protocol string) *schema {
	load, _ := schemas.LoadOrStore(protocol, sync.OnceValue(func() *schema {
		dir := specDir()
		if dir == "" || protocol == "" || protocol != filepath.Base(protocol) {
			return nil
		}
		b, err := os.ReadFile(filepath.Join(dir, protocol, "schema.json"))
		if err != nil {
			return nil
		}
		s, err := newSchema(protocol, b)
		if err != nil {
			panic("servertest: schema of " + protocol + ": " + err.Error())
		}
		return s
	}))
	return load.(func() *schema)()
}

// specDir is the folder that holds a folder for each revision, "" when there
// is none.
func specDir() string {
	if dir := os.Getenv("WEIR_SPEC"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			dir = filepath.Join(dir, "..", "shared", "spec")
			if _, err := os.Stat(dir); err == nil {
				return dir
			}
			return ""
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return ""
}

func newSchema(protocol string, b []byte) (*schema, error) {
	type definition struct {
		Properties struct {
			Method struct {
				Const string `json:"const"`
			} `json:"method"`
		} `json:"properties"`
	}
	var doc struct {
		Old map[string]definition `json:"definitions"`
		New map[string]definition `json:"$defs"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	url := "mcp:///" + protocol + "/schema.json"
	s := &schema{
		url:           url + "#/$defs/",
		definitions:   make(map[string]bool),
		notifications: make(map[string]string),
		compiler:      jsonschema.NewCompiler(),
		compiled:      make(map[string]*jsonschema.Schema),
	}
	if doc.Old != nil {
		s.url, doc.New = url+"#/definitions/", doc.Old
	}
	for name, d := range doc.New {
		s.definitions[name] = true
		if method := d.Properties.Method.Const; strings.HasPrefix(method, "notifications/") {
			s.notifications[method] = name
		}
	}
	s.compiler.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("%s is not to be fetched", url)
	}
	return s, s.compiler.AddResource(url, bytes.NewReader(b))
}

func (s *schema) has(name string) bool { return s.definitions[name] }

// first is the first of names that the revision defines.
func (s *schema) first(names ...string) string {
	for _, name := range names {
		if s.has(name) {
			return name
		}
	}
	return names[0]
}

func (s *schema) validate(name string, v any) error {
	compiled, err := s.compile(name)
	if err != nil {
		return err
	}
	err = compiled.Validate(v)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "not a valid %s:", name)
	for _, e := range invalid.BasicOutput().Errors {
		if e.KeywordLocation != "" && !strings.HasPrefix(e.Error, "doesn't validate with") {
			fmt.Fprintf(&b, "\n\tat %q: %s", e.InstanceLocation, e.Error)
		}
	}
	return errors.New(b.String())
}

func (s *schema) compile(name string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.compiled[name]; c != nil {
		return c, nil
	}
	c, err := s.compiler.Compile(s.url + name)
	if err == nil {
		s.compiled[name] = c
	}
	return c, err
}
