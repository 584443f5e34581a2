{{ define "order" }}b{{ end }}
