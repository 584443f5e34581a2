package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
)

var hosts = []string{"http://reg.test/", "https://reg.test/", "https://reg.test:8443/", "http://a.reg.test:5000/", "https://a.b.reg.test/", "http://xreg.test/", "http://10.1.2.3:5000/", "http://10.1.2.3/", "http://192.168.0.1/", "http://[2001:db8::1]/", "https://[2001:db8::1]:5000/", "http://localhost:5000/", "http://127.0.0.1/", "http://127.9.9.9/", "http://[::1]:5000/", "http://REG.Test/"}
var no = []string{"", "reg.test", ".reg.test", "*.reg.test", "*.test", "*reg.test", "reg.test:80", "reg.test:443", "reg.test:8443", "*.reg.test:5000", ".reg.test:5000", "a.reg.test", "10.1.2.3", "10.1.2.3:5000", "10.1.0.0/16", "10.0.0.0/33", "2001:db8::1", "[2001:db8::1]:5000", "[2001:db8::1]", "2001:db8::/32", "*", "foo, REG.test ,bar", "foo,*", "test", "10.1.2", "*:5000", ":5000", "reg.test:", "reg.test.", "reg.*", "::ffff:10.1.2.3", " , ,"}

func main() {
	if len(os.Args) > 1 {
		out := map[string]bool{}
		for _, h := range hosts {
			r, _ := http.NewRequest("GET", h, nil)
			p, err := http.ProxyFromEnvironment(r)
			if err != nil {
				panic(err)
			}
			out[h] = p != nil
		}
		b, _ := json.Marshal(out)
		fmt.Print(string(b))
		return
	}
	all := []any{}
	for _, n := range no {
		c := exec.Command(os.Args[0], "x")
		c.Env = []string{"HTTP_PROXY=http://p:1", "HTTPS_PROXY=http://p:1", "NO_PROXY=" + n}
		o, err := c.Output()
		if err != nil {
			panic(err)
		}
		var m map[string]bool
		json.Unmarshal(o, &m)
		direct := []string{}
		for _, h := range hosts {
			if !m[h] {
				direct = append(direct, h)
			}
		}
		all = append(all, map[string]any{"no_proxy": n, "direct": direct})
	}
	b, _ := json.MarshalIndent(map[string]any{"recorded": "go1.26.8 net/http ProxyFromEnvironment", "urls": hosts, "cases": all}, "", " ")
	os.WriteFile(os.Args[0]+".json", append(b, '\n'), 0644)
}
