// BabyBear in the extension module of one target. Thin, as bindings.cpp is.
#include <bit>

#include "bindings.hpp"
#include "zen/bear_fractions.hpp"
#include "zen/bear_ntt.hpp"
#include "zen/bear_rows.hpp"
#include "zen/bear_vectors.hpp"

namespace zen {
namespace {

using namespace bear;
using Bears = Array<uint32_t>;
using ConstBears = Array<const uint32_t>;

template <class Operation>
void zip(const ConstBears& a, const ConstBears& b, const Bears& out, int threads, Operation operation) {
  nb::gil_scoped_release release;
  bear::zip(a.data(), b.data(), b.size() == 1 ? 0 : 1, out.data(), long(a.size()), threads, operation);
}

// Of rows of one kind of entries, each function once for every kind.
template <class Entry>
void bind_rows(nb::module_& m, nb::class_<bear::Domain>& domain) {
  using Rows = Array<const Entry>;
  m.def("combine_rows", [](Rows rows, long n, ConstBears weights, Bears out, int threads) {
    nb::gil_scoped_release release;
    combine_rows(rows.data(), long(weights.shape(1)), n, n, weights.data(), out.data(), threads);
  });
  m.def("row_products", [](Rows rows, long n, ConstBears weights, Bears out, int threads) {
    nb::gil_scoped_release release;
    row_products(rows.data(), long(out.shape(1)), n, n, weights.data(), out.data(), threads);
  });
  domain.def("encode", [](const bear::Domain& self, Rows values, ConstBears tails, Bears out, int threads, const nb::object& callback) {
    const Progress progress = progress_from(callback);
    nb::gil_scoped_release release;
    self.encode(values.data(), long(values.shape(1)), tails.data(), long(values.shape(0)), out.data(), threads, progress);
  }, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
}

}  // namespace

void bind_bear(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("bear");
  m.def("add", [](ConstBears a, ConstBears b, Bears out, int threads) {
    zip(a, b, out, threads, [](Lanes x, Lanes y) { return add(x, y); });
  });
  m.def("sub", [](ConstBears a, ConstBears b, Bears out, int threads) {
    zip(a, b, out, threads, [](Lanes x, Lanes y) { return sub(x, y); });
  });
  m.def("mul", [](ConstBears a, ConstBears b, Bears out, int threads) {
    zip(a, b, out, threads, [](Lanes x, Lanes y) { return mul(x, y); });
  });
  // Elements of the extension in planes, [5, n].
  m.def("multiply", [](ConstBears a, ConstBears b, Bears out, int threads) {
    nb::gil_scoped_release release;
    multiply(a.data(), b.data(), b.shape(1) == 1, out.data(), long(a.shape(1)), threads);
  });
  m.def("scale", [](ConstBears a, ConstBears b, Bears out, int threads) {
    nb::gil_scoped_release release;
    scale(a.data(), b.data(), out.data(), long(a.shape(1)), threads);
  });
  m.def("dot", [](ConstBears a, ConstBears b, Bears out) {
    nb::gil_scoped_release release;
    dot(a.data(), b.data(), long(a.shape(1)), out.data());
  });
  // For benchmarks: products of vectors that stay in the cache, in place, so many times.
  m.def("multiply_repeatedly", [](Bears a, ConstBears b, long rounds) {
    nb::gil_scoped_release release;
    const auto product = [](Lanes x, Lanes y) { return mul(x, y); };
    for (long i = 0; i < rounds; i++) {
      if (a.ndim() == 2)
        multiply(a.data(), b.data(), false, a.data(), long(a.shape(1)), 1);
      else
        bear::zip(a.data(), b.data(), 1, a.data(), long(a.size()), 1, product);
    }
  });
  m.def("eq", [](ConstBears r, Bears out) {
    nb::gil_scoped_release release;
    fill_eq(r.data(), int(r.shape(1)), out.data());
  });
  // Reads the numerators where they are: whoever makes a tree keeps them.
  nb::class_<FractionTree>(m, "FractionTree")
      .def("__init__", [](FractionTree* self, ConstBears numerators, ConstBears denominators, int threads) {
        nb::gil_scoped_release release;
        const int log_leaves = std::countr_zero(size_t(numerators.size()));
        new (self) FractionTree(numerators.data(), denominators.data(), log_leaves, threads);
      })
      .def("root", [](const FractionTree& self, Bears out) { self.root(out.data(), out.data() + degree); })
      .def("begin", [](FractionTree& self, int variables, ConstBears join) {
        nb::gil_scoped_release release;
        self.begin(variables, join.data());
      })
      .def("round", [](FractionTree& self, std::optional<ConstBears> r, ConstBears outer, ConstBears inner, Bears out) {
        const uint32_t* const bound = r ? r->data() : nullptr;
        nb::gil_scoped_release release;
        self.round(bound, outer.data(), long(outer.shape(1)), inner.data(), long(inner.shape(1)), out.data());
      }, nb::arg().none(), nb::arg(), nb::arg(), nb::arg())
      .def("halves", [](FractionTree& self, std::optional<ConstBears> r, Bears out) {
        const uint32_t* const bound = r ? r->data() : nullptr;
        nb::gil_scoped_release release;
        self.halves(bound, out.data());
      }, nb::arg().none(), nb::arg());
  nb::class_<bear::Domain> domain(m, "Domain");
  domain.def(nb::init<int>(), nb::call_guard<nb::gil_scoped_release>());
  bind_rows<int8_t>(m, domain);
  bind_rows<int16_t>(m, domain);
  bind_rows<uint32_t>(m, domain);
}

}  // namespace zen
