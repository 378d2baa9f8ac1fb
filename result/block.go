// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

// block writes one content block. The switch keeps the writer off the heap,
// where a method of Content would put it.
func (w *writer) block(c Content) {
	switch c := c.(type) {
	case TextContent:
		w.text(c)
	case ImageContent:
		w.media("image", c.MIMEType, c.Data, c.Annotations, c.Meta)
	case AudioContent:
		if w.protocol < revisionMarch2025 {
			w.text(TextContent{Text: leftOut("audio", c.MIMEType, len(c.Data), "the host's protocol revision does not know audio")})
			return
		}
		w.media("audio", c.MIMEType, c.Data, c.Annotations, c.Meta)
	case LinkContent:
		if w.protocol < revisionJune2025 {
			w.text(TextContent{Text: c.URI, Annotations: c.Annotations})
			return
		}
		w.link(c)
	case EmbeddedContent:
		w.embedded(c)
	default:
		w.fail("content")
	}
}

func (w *writer) text(c TextContent) {
	w.raw(`{"type":"text","text":`)
	w.str(c.Text)
	w.end(c.Annotations, c.Meta)
}

func (w *writer) media(kind, mimeType string, data []byte, a *Annotations, meta map[string]any) {
	w.raw(`{"type":"`)
	w.raw(kind)
	w.raw(`","data":`)
	w.base64(data)
	w.raw(`,"mimeType":`)
	w.str(mimeType)
	w.end(a, meta)
}

func (w *writer) link(c LinkContent) {
	w.raw(`{"type":"resource_link",`)
	w.linked(c)
}

// linked writes what a link and an entry of a list of resources have in common,
// to its end.
func (w *writer) linked(c LinkContent) {
	w.raw(`"uri":`)
	w.str(c.URI)
	w.raw(`,"name":`)
	w.str(c.Name)
	if w.protocol >= revisionJune2025 {
		w.member(`,"title":`, c.Title)
	}
	w.member(`,"description":`, c.Description)
	w.member(`,"mimeType":`, c.MIMEType)
	if c.Size != nil {
		w.raw(`,"size":`)
		w.int(*c.Size)
	}
	w.end(c.Annotations, c.Meta)
}

func (w *writer) embedded(c EmbeddedContent) {
	w.raw(`{"type":"resource","resource":`)
	w.resource(c.Resource)
	w.end(c.Annotations, c.Meta)
}

func (w *writer) resource(r Resource) {
	w.raw(`{"uri":`)
	w.str(r.URI)
	w.member(`,"mimeType":`, r.MIMEType)
	if r.Blob != nil {
		w.raw(`,"blob":`)
		w.base64(r.Blob)
	} else {
		w.raw(`,"text":`)
		w.str(r.Text)
	}
	w.blockMeta(r.Meta)
	w.raw(`}`)
}

// end closes a block with what all of them may have.
func (w *writer) end(a *Annotations, meta map[string]any) {
	w.annotations(a)
	w.blockMeta(meta)
	w.raw(`}`)
}

func (w *writer) blockMeta(meta map[string]any) {
	if len(meta) > 0 && w.protocol >= revisionJune2025 {
		w.meta(meta, nil)
	}
}

func (w *writer) annotations(a *Annotations) {
	if a == nil || w.protocol < revisionMarch2025 {
		return
	}
	if len(a.Audience) == 0 && a.Priority == nil && (a.LastModified == "" || w.protocol < revisionJune2025) {
		return // they say nothing
	}
	w.raw(`,"annotations":{`)
	sep := ""
	if len(a.Audience) > 0 {
		w.raw(`"audience":[`)
		for i, role := range a.Audience {
			if i > 0 {
				w.raw(`,`)
			}
			w.str(role)
		}
		w.raw(`]`)
		sep = ","
	}
	if a.Priority != nil {
		w.raw(sep)
		w.raw(`"priority":`)
		w.number(*a.Priority)
		sep = ","
	}
	if a.LastModified != "" && w.protocol >= revisionJune2025 {
		w.raw(sep)
		w.raw(`"lastModified":`)
		w.str(a.LastModified)
	}
	w.raw(`}`)
}
