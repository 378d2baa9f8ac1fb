package porting
import ("testing";"fmt";"github.com/weir-mcp/weir/tool";"github.com/weir-mcp/weir/result";"time";"os";"github.com/go-json-experiment/json";"github.com/go-json-experiment/json/jsontext")
func TestZ(t *testing.T){
 var tools tool.Registry
 addNaive(&tools)
 s:=time.Now()
 r,err:=tools.Call(t.Context(),"grep",map[string]any{"pattern":"func","path":"/usr/local/go/src"})
 txt:=r.Content[0].(result.TextContent).Text
 fmt.Println(err,r.IsError,len(txt),time.Since(s)); i:=0; for j:=range txt { if txt[j]=='[' && j+3<len(txt) && txt[j+1]==0xe2 {i=j}}; fmt.Println(txt[i-200:i+300])
 root,_:=os.OpenRoot("/usr/local/go/src")
 var t2 tool.Registry
 addPaged(&t2,root)
 in:=map[string]any{"pattern":"func"}
 n,pg:=0,0
 s=time.Now()
 for { r,err:=t2.Call(t.Context(),"grep",in); if err!=nil||r.IsError{t.Fatal(err,r)}
 var page struct{Items []Match `json:"items"`; NextCursor string `json:"nextCursor"`}
 json.Unmarshal(r.Structured.(jsontext.Value),&page); n+=len(page.Items); pg++; if page.NextCursor=="" {break}; in["cursor"]=page.NextCursor; if pg==1 { fmt.Printf("%.700s\n", r.Content[0].(result.TextContent).Text)} }
 fmt.Println(n,pg,time.Since(s))
}
