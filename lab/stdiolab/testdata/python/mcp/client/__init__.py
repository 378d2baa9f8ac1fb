# Copyright (c) The Weir Authors.
# SPDX-License-Identifier: Apache-2.0
