{{- define "failing.inner" }}{{ .Values.none.deep }}{{ end }}
