// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

// The defaults of a [Budget], and the smallest byte budget there is.
const (
	DefaultBytes = 32 << 10
	DefaultItems = 1000
	DefaultMedia = 1 << 20
	MinBytes     = 1 << 10
)

// A Budget is how much one result may put in front of a model. The zero Budget
// means the defaults; there is no way to have no limit.
type Budget struct {
	// Bytes bounds the text form and the structured form, each by itself, in
	// bytes as encoded: escapes count, the quotes around a text do not.
	// Zero means DefaultBytes; less than MinBytes means MinBytes.
	Bytes int

	// Items bounds the items of a page and the blocks of other results.
	// Zero or less means DefaultItems.
	Items int

	// Media bounds the images, audio and binary resources of a result together,
	// in bytes as encoded (base64 takes four bytes for three). Media is never
	// cut: a block that does not fit is replaced by a short text.
	// Zero or less means DefaultMedia.
	Media int
}

// WithDefaults returns b with its zero fields taken from d, and what is zero in
// both from the defaults. The returned fields are all positive.
func (b Budget) WithDefaults(d Budget) Budget {
	return Budget{
		Bytes: max(firstPositive(b.Bytes, d.Bytes, DefaultBytes), MinBytes),
		Items: firstPositive(b.Items, d.Items, DefaultItems),
		Media: firstPositive(b.Media, d.Media, DefaultMedia),
	}
}

func firstPositive(ns ...int) int {
	for _, n := range ns {
		if n > 0 {
			return n
		}
	}
	return 0
}
