{{ define "who" }}child{{ end }}
{{ define "child.only" }}{{ .Chart.Name }}{{ end }}
