{{- define "name" -}}{{ .Chart.Name }}-{{ .Release.Name }}{{- end -}}
{{- define "labels" -}}
app: {{ include "name" . }}
release: {{ .Release.Name | quote }}
{{- end -}}
{{- define "echo" }}{{ . }}{{ end -}}
{{- define "type" }}{{ printf "%T" . }}{{ end -}}
{{- define "empty" }}{{ end -}}
{{- define "blank" }}
{{ end -}}
{{- define "lines" }}one
two
three{{ end -}}
{{- define "yaml" }}a: 1
b: [x, y]
{{ end -}}
{{- define "fails" -}}
{{ fail "it failed" }}
{{- end -}}
{{- define "requires" -}}
{{ required "a value is required" .missing }}
{{- end -}}
{{- define "nilfield" -}}
{{- $x := . -}}
{{ $x.Values.nope.field }}
{{- end -}}
{{- define "calls.fails" -}}
line one
{{ include "fails" . }}
{{- end -}}
{{- define "calls.nilfield" }}{{ template "nilfield" . }}{{ end -}}
{{- define "badcall" }}{{ add1 "x" | index .Values.list }}{{ end -}}
{{- define "forever" }}{{ include "forever" . }}{{ end -}}
{{- define "forever.template" }}{{ template "forever.template" . }}{{ end -}}
{{- define "ping" }}{{ include "pong" . }}{{ end -}}
{{- define "pong" }}{{ include "ping" . }}{{ end -}}
{{- define "countdown" }}{{ if gt (int .) 0 }}{{ . }},{{ include "countdown" (sub (int .) 1) }}{{ end }}{{ end -}}
{{- define "sum" }}{{ $s := 0 }}{{ range . }}{{ $s = add $s . }}{{ end }}{{ $s }}{{ end -}}
{{- define "tpl.inner" }}{{ tpl "{{ .Values.str }}" . }}{{ end -}}
{{- define "name with space" }}spaced{{ end -}}
