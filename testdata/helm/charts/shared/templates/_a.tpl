{{ define "who" }}parent{{ end }}
{{ define "order" }}a{{ end }}
