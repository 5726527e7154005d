// BabyBear in the extension module of one target. Thin, as bindings.cpp is.
#include "bindings.hpp"
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
  m.def("eq", [](ConstBears r, Bears out) {
    nb::gil_scoped_release release;
    fill_eq(r.data(), int(r.shape(1)), out.data());
  });
  nb::class_<bear::Domain> domain(m, "Domain");
  domain.def(nb::init<int>(), nb::call_guard<nb::gil_scoped_release>());
  bind_rows<int8_t>(m, domain);
  bind_rows<int16_t>(m, domain);
  bind_rows<uint32_t>(m, domain);
}

}  // namespace zen
