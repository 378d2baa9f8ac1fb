// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPolicyErrors(t *testing.T) {
	t.Setenv("TEST_HTTP_SHORT", "short")
	t.Setenv("TEST_HTTP_LINES", "with a\nline break")
	t.Setenv("TEST_HTTP_TOKEN", token)
	host := func(s string) string { return `{"hosts":[{"host":"a.example",` + s + `}]}` }
	for text, want := range map[string]string{
		`{`:                             "not JSON at byte 1",
		`{"maxbody":1}`:                 "/maxbody: there is no such field",
		`{"maxBody":1,"maxBody":2}`:     "/maxBody",
		`{"maxBody":"big"}`:             "/maxBody: not a whole number",
		`{"maxBody":-1}`:                "/maxBody: less than zero",
		`{"timeout":"fast"}`:            "/timeout",
		`{"timeout":30}`:                "/timeout",
		`{"schemes":["ftp"]}`:           "/schemes/0",
		`{"ports":[80,0]}`:              "/ports/1",
		`{"allow":["10.0.0.0/8","x"]}`:  "/allow/1",
		`{"proxy":"http://u:p@proxy/"}`: "/proxy",
		`{"redirects":-1}`:              "/redirects",
		`[]`:                            "a policy is a JSON object",
		`null`:                          "a policy is a JSON object",
		`{"maxBody":1.5}`:               "/maxBody: not a whole number",
		`{"maxBody":1e30}`:              "/maxBody: not a whole number",
		`{"maxBody":0}`:                 "/maxBody: there is no way to have none",
		`{"maxRatio":-0}`:               "/maxRatio: there is no way to have none",
		`{"timeout":"0s"}`:              "/timeout: there is no way to have none",
		`{"ports":[]}`:                  "/ports: there is no way to have none",
		`{"schemes":[]}`:                "/schemes: there is no way to have none",
		`{"allow":["10.1.2.3/8"]}`:      "/allow/0: \"10.1.2.3/8\" is an address within a range: write 10.0.0.0/8",
		`{"hosts":[{"host":"127.1"}]}`:  "/hosts/0/host",
		host(`"credentials":[{"header":"A","query":"B"}]`):                              "/hosts/0/credentials/0: header and query are both set",
		host(`"credentials":[{"header":"A","env":"B","file":"C"}]`):                     "/hosts/0/credentials/0: env and file are both set",
		host(`"api":{"pageSize":{"param":"n","max":0}}`):                                "/hosts/0/api/pageSize/max: there is no way to have none",
		`{"userAgent":"a\nb"}`:                                                          "/userAgent",
		`{"hosts":[{"host":""}]}`:                                                       "/hosts/0/host",
		`{"hosts":[{"host":"*.a.com"}]}`:                                                "/hosts/0/host",
		`{"hosts":[{"host":"https://a"}]}`:                                              "/hosts/0/host",
		`{"hosts":[{"host":"a.com"},{"host":"A.com"}]}`:                                 "/hosts/1/host: a.com is there twice",
		host(`"token":"x"`):                                                             "/hosts/0/token: there is no such field",
		host(`"credentials":[{"env":"X"}]`):                                             "/hosts/0/credentials/0: either header or query",
		host(`"credentials":[{"header":"A","value":"x"}]`):                              "/hosts/0/credentials/0/value: there is no such field",
		host(`"credentials":[{"header":"A"}]`):                                          "/hosts/0/credentials/0: either env or file",
		host(`"credentials":[{"header":"Host","env":"TEST_HTTP_TOKEN"}]`):               "/hosts/0/credentials/0/header",
		host(`"credentials":[{"header":"A B","env":"TEST_HTTP_TOKEN"}]`):                "/hosts/0/credentials/0/header",
		host(`"credentials":[{"header":"A","env":"TEST_HTTP_NOT_THERE"}]`):              "/hosts/0/credentials/0/env: the environment variable TEST_HTTP_NOT_THERE",
		host(`"credentials":[{"header":"A","env":"TEST_HTTP_SHORT"}]`):                  "/hosts/0/credentials/0/env: the secret has less than 8",
		host(`"credentials":[{"header":"A","env":"TEST_HTTP_LINES"}]`):                  "/hosts/0/credentials/0/env: the secret has characters",
		host(`"credentials":[{"header":"A","file":"/not/there"}]`):                      "/hosts/0/credentials/0/file",
		host(`"credentials":[{"query":"A","env":"TEST_HTTP_TOKEN","basicUser":"bob"}]`): "/hosts/0/credentials/0/basicUser",
		host(`"api":{"items":"items"}`):                                                 "/hosts/0/api/items",
		host(`"api":{"pageSize":{"param":""}}`):                                         "/hosts/0/api/pageSize/param",
		host(`"api":{"pageSize":{"param":"n","max":10,"default":20}}`):                  "/hosts/0/api/pageSize/default",
		host(`"api":{"next":{}}`):                                                       "/hosts/0/api/next",
		host(`"api":{"next":{"link":true,"pointer":"/x"}}`):                             "/hosts/0/api/next",
		host(`"api":{"next":{"link":true,"param":"x"}}`):                                "/hosts/0/api/next/param",
		host(`"api":{"next":{"pointer":"/a~2"}}`):                                       "/hosts/0/api/next/pointer",
		host(`"api":{"fields":{}}`):                                                     "/hosts/0/api/fields/param",
	} {
		_, err := parsePolicy([]byte(text), "")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "line break\"") || strings.Contains(err.Error(), "\"short") {
			t.Errorf("%s\nhas error %v\nwant       %s", text, err, want)
		}
	}
}

// No redirects is something that a policy can ask for; files are named from the
// policy on.
func TestPolicyFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("a secret of a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "policy.json")
	if err := os.WriteFile(file, []byte(`{"redirects":0,"hosts":[{"host":"a.example","credentials":[{"header":"A","file":"secret"}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := readPolicy(file)
	if err != nil || *p.Redirects != 0 || p.Hosts[0].Credentials[0].value != "a secret of a file" {
		t.Errorf("%+v, %v", p, err)
	}
}
