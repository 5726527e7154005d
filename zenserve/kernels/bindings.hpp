// What all sources of an extension module share: arrays as they come from Python, and progress as it goes there.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

#include "zen/parallel.hpp"

namespace nb = nanobind;

namespace zen {

template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

inline Progress progress_from(const nb::object& callback) {
  if (callback.is_none()) return {};
  return [callback = callback.ptr()](double fraction) {
    nb::gil_scoped_acquire gil;
    nb::borrow(callback)(fraction);
  };
}

// BabyBear, another machine than the fields of BLS12-381: bear_bindings.cpp.
void bind_bear(nb::module_& parent);

}  // namespace zen
