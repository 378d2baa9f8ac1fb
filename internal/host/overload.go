// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

// refusedWhole is the most, in bytes, that a frame which found the queue full
// is parsed at; of a longer one only the start and the end are looked at,
// since it is the reader that does so.
const refusedWhole = 2 * oversizeKeep

// overloaded does what Config.Overload says about a frame that did not fit. It
// runs on the reader, waits for nothing, and does little.
func (h *Host) overloaded(f Frame) {
	h.stats.refused.Add(1)
	if h.cfg.Overload == OverloadEnd {
		h.end(ErrOverload)
		h.finish() // the dispatcher may never come to it
		return
	}
	keys, known := refusedKeys(&f)
	h.mu.Lock()
	h.noteLocked(f)
	var lost, cancel []*Pending
	for key, p := range h.open {
		switch {
		case p.cancelled:
		case keys[key] || !known && h.cfg.Overload == OverloadRefuse:
			// It is not forgotten: its progress may be in the queue, and its
			// response still to come, if the frame was another's.
			h.giveUpLocked(p)
			lost = append(lost, p)
		case h.cfg.Overload == OverloadCancel:
			cancel = append(cancel, p)
		}
	}
	h.mu.Unlock()
	h.stats.judged(&f)
	for _, p := range lost {
		p.settle(nil, ErrOverload)
	}
	for _, p := range cancel {
		p.settle(nil, ErrOverload)
		h.Cancel(p.ID, ErrOverload.Error())
	}
}

// refusedKeys finds the keys of the requests that f answers. known is false
// when that would take more than a look.
func refusedKeys(f *Frame) (keys map[string]bool, known bool) {
	keys = make(map[string]bool, 1)
	add := func(f *Frame) {
		if f.Method == "" && f.ID != nil {
			keys[idKey(f.ID)] = true
		}
	}
	switch {
	case f.Kind == Oversize:
		f.ID, known = answered(f.Raw, f.tail)
		add(f)
	case len(f.Raw) > refusedWhole:
		f.ID, known = answered(f.Raw[:oversizeKeep], f.Raw[len(f.Raw)-oversizeKeep:])
		add(f)
	default:
		known = true
		classify(f)
		if f.Kind != BatchResponse {
			add(f)
			break
		}
		for _, m := range members(f.Raw) {
			part := Frame{Raw: m}
			classify(&part)
			add(&part)
		}
	}
	return keys, known
}
