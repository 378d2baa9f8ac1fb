// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package report

// pageText is the page: nothing in it is fetched from anywhere.
const pageText = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Frames over pipes: a run of Weir's laboratory</title>
<style>
:root { --ground: #fff; --text: #222; --soft: #666; --line: #ddd; --good: #15803d; --bad: #be123c; }
@media (prefers-color-scheme: dark) { :root { --ground: #15181c; --text: #e4e4e4; --soft: #a0a0a0; --line: #383d44; --good: #57d27a; --bad: #ff7b93; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1560px; padding: 16px; background: var(--ground); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .3em 0; }
h2 { font-size: 1.25rem; margin: 2em 0 .4em; border-top: 1px solid var(--line); padding-top: .8em; }
h3 { font-size: 1rem; margin: 1em 0 .2em; }
.soft, .skipped { color: var(--soft); font-size: .85rem; overflow-wrap: anywhere; }
ol.conclusions { padding: 0; list-style: none; display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 12px; counter-reset: n; }
ol.conclusions li { border: 1px solid var(--line); border-radius: 6px; padding: 10px 12px; counter-increment: n; overflow-wrap: anywhere; }
ol.conclusions li b::before { content: counter(n) ". "; }
.verdict { font-weight: 600; color: var(--soft); }
.verdict.confirmed { color: var(--good); }
.verdict.refuted { color: var(--bad); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 560px), 1fr)); gap: 8px 24px; }
figure { margin: 0; min-width: 0; }
figure svg { display: block; width: 100%; max-width: 760px; height: auto; }
.nd, .wl, .wd { display: none; }
@media (min-width: 700px) { .nl { display: none; } .wl { display: block; } }
@media (prefers-color-scheme: dark) { .nl, .wl { display: none; } .nd { display: block; } }
@media (prefers-color-scheme: dark) and (min-width: 700px) { .nd { display: none; } .wd { display: block; } }
details { margin: .6em 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .78rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 2px 8px; border-bottom: 1px solid var(--line); white-space: nowrap; }
</style>
</head>
<body>
<h1>Frames over pipes</h1>
<p class="soft">{{.Machine}}. {{.Env}}{{with .Total}}. {{.}}{{end}}</p>
<p>Groupings are what this page stands by: this way to write a frame damages some, that one never does. Percentages and times are shown, and move from run to run.</p>
<ol class="conclusions">
{{- range .Conclusions}}
<li><b>{{.Text}}</b> <span class="verdict {{verdict .Verdict}}">{{.Verdict}}.</span> {{.Figure}}.</li>
{{- end}}
</ol>
{{- range .Groups}}
<h2 id="{{.Name}}">{{.Name}}: {{.What}}</h2>
{{- with .Total}}
<p class="soft">{{.}}</p>
{{- end}}
{{- with .Charts}}
<div class="charts">
{{- range .}}
<figure><h3>{{.Title}}</h3>
<div class="nl">{{index .SVG 0}}</div><div class="nd">{{index .SVG 1}}</div><div class="wl">{{index .SVG 2}}</div><div class="wd">{{index .SVG 3}}</div>
{{- with .Unseen}}
<figcaption class="soft">{{.}}.</figcaption>
{{- end}}
</figure>
{{- end}}
</div>
{{- end}}
{{- range .Skipped}}
<p class="skipped">Not measured: {{.}}</p>
{{- end}}
<details><summary>All {{len .Rows}} rows</summary><div class="scroll"><table>
<tr>{{range .Columns}}<th>{{.}}</th>{{end}}</tr>
{{- range .Rows}}
<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{- end}}
</table></div></details>
{{- end}}
</body>
</html>
`
