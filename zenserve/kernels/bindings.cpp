// The extension module of one target. Thin: raw arrays in, raw arrays out, sizes and shapes already checked
// by the Python layer, the GIL released around all work.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <bit>

#include "bindings.hpp"
#include "zen/elementwise.hpp"
#include "zen/encoding.hpp"
#include "zen/fixed_base.hpp"
#include "zen/group_ntt.hpp"
#include "zen/merkle.hpp"
#include "zen/msm.hpp"
#include "zen/multiply.hpp"
#include "zen/ntt.hpp"
#include "zen/operations.hpp"
#include "zen/pairing.hpp"
#include "zen/repeated.hpp"
#include "zen/sparse.hpp"
#include "zen/sparse_forms.hpp"
#include "zen/sparse_points.hpp"
#include "zen/sumcheck.hpp"

namespace zen {
namespace {

using Words = Array<uint64_t>;
using ConstWords = Array<const uint64_t>;

template <class T>
const T* read(const ConstWords& array) {
  return reinterpret_cast<const T*>(array.data());
}
template <class T>
T* write(const Words& array) {
  return reinterpret_cast<T*>(array.data());
}
template <class T, class WordsOfSomeKind>
long count(const WordsOfSomeKind& array) {
  return long(array.size() * sizeof(uint64_t) / sizeof(T));
}

template <class F, class Operation>
void zip(const ConstWords& a, const ConstWords& b, const Words& out, int threads, Operation operation) {
  nb::gil_scoped_release release;
  zip(read<F>(a), read<F>(b), count<F>(b) == 1 ? 0 : 1, write<F>(out), count<F>(a), threads, operation);
}

template <class F, class Out, class Operation>
void map(const ConstWords& a, Out* out, int threads, Operation operation) {
  nb::gil_scoped_release release;
  map(read<F>(a), out, count<F>(a), threads, operation);
}

template <class F>
nb::module_ bind_field(nb::module_& parent, const char* name) {
  nb::module_ m = parent.def_submodule(name);
  m.def("add", [](ConstWords a, ConstWords b, Words out, int threads) {
    zip<F>(a, b, out, threads, Add{});
  });
  m.def("sub", [](ConstWords a, ConstWords b, Words out, int threads) {
    zip<F>(a, b, out, threads, Subtract{});
  });
  m.def("mul", [](ConstWords a, ConstWords b, Words out, int threads) {
    nb::gil_scoped_release release;
    multiply(read<F>(a), read<F>(b), count<F>(b) == 1 ? 0 : 1, write<F>(out), count<F>(a), threads);
  });
  m.def("neg", [](ConstWords a, Words out, int threads) {
    map<F>(a, write<F>(out), threads, Negate{});
  });
  m.def("square", [](ConstWords a, Words out, int threads) {
    map<F>(a, write<F>(out), threads, Square{});
  });
  m.def("inverse", [](Words values, int threads) {
    nb::gil_scoped_release release;
    invert_all(write<F>(values), count<F>(values), threads);
  });
  return m;
}

template <class P>
nb::module_ bind_prime_field(nb::module_& parent, const char* name) {
  using F = Prime<P>;
  nb::module_ m = bind_field<F>(parent, name);
  m.def("modulus", [](Words out) { std::memcpy(out.data(), P::modulus, sizeof P::modulus); });
  m.def("to_canon", [](ConstWords a, Words out, int threads) {
    nb::gil_scoped_release release;
    to_canonical(read<F>(a), write<F>(out), count<F>(a), threads);
  });
  m.def("from_canon", [](ConstWords a, Words out, int threads) {
    nb::gil_scoped_release release;
    to_montgomery(read<F>(a), write<F>(out), count<F>(a), threads);
  });
  // Nanoseconds are for the caller to take: `rounds` products by the last value, of each of the others.
  m.def("multiply_repeatedly", [](Words values, long rounds) {
    nb::gil_scoped_release release;
    const long chains = long(values.shape(0)) - 1;
    multiply_repeatedly(write<F>(values), chains, write<F>(values)[chains], rounds);
  });
  return m;
}

SparseMatrix sparse(const Array<const int64_t>& offsets, const Array<const uint32_t>& columns,
                    const Array<const uint32_t>& coefficients, const ConstWords& pool) {
  return {long(offsets.size()) - 1, offsets.data(), columns.data(), coefficients.data(), read<Fr>(pool), count<Fr>(pool)};
}

template <class F>
void bind_group(nb::module_& parent, const char* name, const Affine<F>& generator) {
  using Point = Affine<F>;
  nb::module_ m = parent.def_submodule(name);
  m.def("generator", [generator](Words out) { *write<Point>(out) = generator; });
  m.def("add", [](ConstWords p, ConstWords q, Words out, int threads) {
    nb::gil_scoped_release release;
    add_each(read<Point>(p), read<Point>(q), count<Point>(q) == 1 ? 0 : 1, write<Point>(out), count<Point>(p), threads);
  });
  m.def("neg", [](ConstWords a, Words out) { map<Point>(a, write<Point>(out), 1, Negate{}); });
  // One scalar multiplies all points, n scalars one each.
  m.def("mul", [](ConstWords points, ConstWords scalars, Words out, int threads, const nb::object& callback) {
    const Progress progress = progress_from(callback);
    nb::gil_scoped_release release;
    multiply_each(read<Point>(points), read<Fr>(scalars), count<Fr>(scalars) == 1 ? 0 : 1, write<Point>(out),
                  count<Point>(points), threads, progress);
  }, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.def("is_on_curve", [](ConstWords points, Array<bool> out) { map<Point>(points, out.data(), 1, is_on_curve<F>); });
  m.def("in_subgroup", [](ConstWords points, Array<bool> out, int threads) {
    nb::gil_scoped_release release;
    parallel_ranges(count<Point>(points), 256, threads, {}, [&](long begin, long end) {
      for (long i = begin; i < end; i++) out.data()[i] = in_subgroup(read<Point>(points)[i]);
    });
  });
  m.def("intt", [](const Domain& domain, Words points, int threads, const nb::object& callback) {
    const Progress progress = progress_from(callback);
    nb::gil_scoped_release release;
    inverse_transform(domain, write<Point>(points), threads, progress);
  }, nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.def("csr_multiply_transposed",
        [](Array<const int64_t> offsets, Array<const uint32_t> columns, Array<const uint32_t> coefficients,
           ConstWords pool, ConstWords points, Words out, int threads, const nb::object& callback) {
          const Progress progress = progress_from(callback);
          nb::gil_scoped_release release;
          multiply_transposed(sparse(offsets, columns, coefficients, pool), count<Fr>(pool), read<Point>(points),
                              write<Point>(out), long(out.shape(0)), threads, progress);
        }, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.def("msm", [](ConstWords bases, std::optional<ConstWords> multiples, ConstWords scalars, Words out, int threads,
                  const nb::object& callback) {
    const Progress progress = progress_from(callback);
    const Point* const more = multiples ? read<Point>(*multiples) : nullptr;
    nb::gil_scoped_release release;
    *write<Point>(out) =
        msm(read<Point>(bases), more, read<Fr>(scalars), count<Point>(bases), threads, progress).to_affine();
  }, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.def("msm_memory", msm_memory<F>);
  m.def("fixed_base", [](ConstWords base, ConstWords scalars, Words out, int threads, const nb::object& callback) {
    const Progress progress = progress_from(callback);
    nb::gil_scoped_release release;
    fixed_base_multiply(*read<Point>(base), read<Fr>(scalars), write<Point>(out), count<Fr>(scalars), threads, progress);
  }, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.def("compress", [](ConstWords points, Array<uint8_t> out) {
    nb::gil_scoped_release release;
    for (long i = 0; i < count<Point>(points); i++)
      compress(read<Point>(points)[i], out.data() + i * encoded_bytes<F>);
  });
  // The first point that does not decode, as (index, Decoded); none where all do.
  m.def("decompress", [](Array<const uint8_t> in, Words out) -> std::optional<std::pair<long, int>> {
    nb::gil_scoped_release release;
    const long n = long(in.size()) / encoded_bytes<F>;
    for (long i = 0; i < n; i++) {
      const Decoded status = decompress(in.data() + i * encoded_bytes<F>, write<Point>(out)[i]);
      if (status != Decoded::ok) return std::pair{i, int(status)};
    }
    return std::nullopt;
  });
}

void transform(const Domain& domain, Words values, std::optional<ConstWords> coset, int order, bool inverse,
               int threads, const nb::object& callback) {
  const Progress progress = progress_from(callback);
  const Fr* shift = coset ? read<Fr>(*coset) : nullptr;
  nb::gil_scoped_release release;
  if (inverse)
    domain.inverse(write<Fr>(values), shift, Order(order), threads, progress);
  else
    domain.forward(write<Fr>(values), shift, Order(order), threads, progress);
}

void encode(const Domain& domain, ConstWords rows, Words out, int threads) {
  nb::gil_scoped_release release;
  domain.encode(read<Fr>(rows), write<Fr>(out), long(rows.shape(0)), threads);
}

void add_powers(const Domain& domain, Array<const uint32_t> places, ConstWords weights, Words out, int threads) {
  nb::gil_scoped_release release;
  domain.add_powers(places.data(), read<Fr>(weights), long(places.size()), write<Fr>(out), count<Fr>(out), threads);
}

void quotient(const Domain& domain, Words a, Words b, Words c, int threads, const nb::object& callback) {
  const Progress progress = progress_from(callback);
  nb::gil_scoped_release release;
  domain.quotient(write<Fr>(a), write<Fr>(b), write<Fr>(c), threads, progress);
}

void bind_multilinear(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("multilinear");
  m.def("eq", [](ConstWords r, Words out, int threads) {
    nb::gil_scoped_release release;
    fill_eq(read<Fr>(r), int(count<Fr>(r)), write<Fr>(out), threads);
  });
  m.def("products", [](ConstWords outer, ConstWords inner, Words out, int threads) {
    nb::gil_scoped_release release;
    fill_products(read<Fr>(outer), read<Fr>(inner), count<Fr>(inner), write<Fr>(out), count<Fr>(out), threads);
  });
  m.def("dot", [](ConstWords a, ConstWords b, Words out, int threads) {
    nb::gil_scoped_release release;
    *write<Fr>(out) = dot(read<Fr>(a), read<Fr>(b), count<Fr>(a), threads);
  });
  m.def("combine_rows", [](ConstWords matrix, ConstWords coefficients, Words out, int threads) {
    nb::gil_scoped_release release;
    combine_rows(read<Fr>(matrix), read<Fr>(coefficients), count<Fr>(coefficients), count<Fr>(out), write<Fr>(out), threads);
  });
  m.def("fold", [](Words table, ConstWords r, int threads) {
    nb::gil_scoped_release release;
    fold(write<Fr>(table), *read<Fr>(r), count<Fr>(table) / 2, threads);
  });
  // With r the first variable is bound to it before the round.
  m.def("product_round", [](Words x, Words y, std::optional<ConstWords> r, Words out, int threads) {
    const Fr* const bound = r ? read<Fr>(*r) : nullptr;
    nb::gil_scoped_release release;
    const long half = count<Fr>(x) / 2;
    const auto halves = [&](const Words& table) { return Halves{write<Fr>(table), half}; };
    const auto folding = [&](const Words& table) { return Folding{write<Fr>(table), half / 2, *bound}; };
    *write<Round>(out) = bound ? product_round(folding(x), folding(y), half / 2, threads)
                               : product_round(halves(x), halves(y), half, threads);
  }, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
  // The same of a table y in rows; with r y is bound as it is written to `folded`.
  m.def("rows_round", [](Words x, const std::vector<ConstWords>& rows, std::optional<ConstWords> r, std::optional<Words> folded,
                         Words out, int threads) {
    std::vector<const Fr*> places;
    for (const ConstWords& row : rows) places.push_back(read<Fr>(row));
    const TableRows table{places.data(), std::countr_zero(size_t(count<Fr>(rows[0])))};
    nb::gil_scoped_release release;
    const long half = count<Fr>(x) / 2;
    *write<Round>(out) =
        r ? product_round(Folding{write<Fr>(x), half / 2, *read<Fr>(*r)},
                          FoldingOfRows{table, write<Fr>(*folded), half / 2, *read<Fr>(*r)}, half / 2, threads)
          : product_round(Halves{write<Fr>(x), half}, HalvesOfRows{table, half}, half, threads);
  }, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg());
  // Without c all a b - c are zero.
  m.def("r1cs_round", [](Words a, Words b, std::optional<Words> c, std::optional<ConstWords> r, ConstWords outer,
                         ConstWords inner, Words out, int threads) {
    const Fr* const bound = r ? read<Fr>(*r) : nullptr;
    nb::gil_scoped_release release;
    const long half = count<Fr>(a) / 2;
    const auto halves = [&](const Words& table) { return Halves{write<Fr>(table), half}; };
    const auto folding = [&](const Words& table) { return Folding{write<Fr>(table), half / 2, *bound}; };
    const auto round = [&](const auto& x, const auto& y, const auto& z, long pairs) {
      return r1cs_round(x, y, z, read<Fr>(outer), read<Fr>(inner), count<Fr>(inner), pairs, threads);
    };
    *write<Round>(out) = bound ? round(folding(a), folding(b), folding(*c), half / 2)
                         : c   ? round(halves(a), halves(b), halves(*c), half)
                               : round(halves(a), halves(b), ProductOfBoth{}, half);
  }, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
}

void bind_hashing(nb::module_& parent) {
  using Bytes = Array<uint8_t>;
  using ConstBytes = Array<const uint8_t>;
  nb::module_ m = parent.def_submodule("blake3");
  m.def("chunks", [](ConstWords matrix, std::optional<ConstBytes> salts, long first, long length, ConstBytes key, Bytes chains,
                     int threads, const nb::object& callback) {
    const Progress progress = progress_from(callback);
    const uint8_t* const salt = salts ? salts->data() : nullptr;
    const Slab slab{read<uint8_t>(matrix), salt, long(matrix.shape(1)), first, long(matrix.shape(0)), length};
    nb::gil_scoped_release release;
    hash_chunks(slab, key.data(), chains.data(), threads, progress);
  }, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.def("join", [](ConstBytes chains, ConstBytes key, Bytes out, int threads) {
    nb::gil_scoped_release release;
    join_chunks(chains.data(), long(chains.shape(0)), long(chains.shape(1)), key.data(), out.data(), threads);
  });
  m.def("tree", [](Bytes nodes, ConstBytes key, int threads) {
    nb::gil_scoped_release release;
    fill_tree(nodes.data(), long(nodes.shape(0)) / 2, key.data(), threads);
  });
}

bool cpu_has_adx() {
#if defined(__x86_64__)
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  return (ebx & bit_BMI2) && (ebx & bit_ADX) && __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

bool cpu_has_ifma() {
#if defined(__x86_64__)
  // Asks the operating system as well, which must save the wide registers.
  return cpu_has_adx() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512ifma");
#else
  return false;
#endif
}

}  // namespace

NB_MODULE(ZEN_MODULE, m) {
  m.def("cpu_has_adx", cpu_has_adx);
  m.def("cpu_has_ifma", cpu_has_ifma);

  nb::module_ fr = bind_prime_field<FrParameters>(m, "fr");
  fr.def("from_int64", [](Array<const int64_t> in, Words out, int threads) {
    nb::gil_scoped_release release;
    from_int64(in.data(), write<Fr>(out), long(in.size()), threads);
  });
  fr.def("shorten", [](ConstWords in, Array<int32_t> out, int threads) {
    nb::gil_scoped_release release;
    shorten(read<Fr>(in), out.data(), count<Fr>(in), threads);
  });
  fr.def("powers", [](ConstWords first, ConstWords base, Words out, int threads) {
    nb::gil_scoped_release release;
    fill_powers(*read<Fr>(first), *read<Fr>(base), write<Fr>(out), long(out.shape(0)), threads);
  });
  fr.def("first_unsatisfied", [](ConstWords a, ConstWords b, ConstWords c, int threads) {
    nb::gil_scoped_release release;
    return first_unsatisfied(read<Fr>(a), read<Fr>(b), read<Fr>(c), count<Fr>(a), threads);
  });
  bind_prime_field<FpParameters>(m, "fp");
  bind_field<Fp2>(m, "fp2");

  bind_group<Fp>(m, "g1", g1_generator());
  bind_group<Fp2>(m, "g2", g2_generator());

  m.def("pairing_product_is_one", [](ConstWords p, ConstWords q) {
    nb::gil_scoped_release release;
    return pairing_product_is_one(read<Affine<Fp>>(p), read<Affine<Fp2>>(q), count<Affine<Fp>>(p));
  });

  bind_multilinear(m);
  bind_hashing(m);
  bind_bear(m);

  nb::class_<Domain>(m, "Domain")
      .def(nb::init<int>(), nb::call_guard<nb::gil_scoped_release>())
      .def_static("scratch_bytes", &Domain::scratch_bytes)
      .def("omega", [](const Domain& domain, Words out) { *write<Fr>(out) = domain.omega(); })
      .def("transform", transform, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def("encode", encode)
      .def("add_powers", add_powers)
      .def("quotient", quotient, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());

  // Reads the arrays of matrices where they are: whoever adds one keeps them.
  nb::class_<SparseForms>(m, "SparseForms")
      .def(nb::init<>())
      .def("add", [](SparseForms& forms, Array<const int64_t> offsets, Array<const uint32_t> columns,
                     Array<const uint32_t> coefficients, ConstWords pool, long first) {
        forms.add(sparse(offsets, columns, coefficients, pool), first);
      })
      .def("at", [](const SparseForms& forms, ConstWords outer, ConstWords inner, ConstWords z, Words out, int threads) {
        nb::gil_scoped_release release;
        forms.at(read<Fr>(outer), read<Fr>(inner), count<Fr>(inner), read<Fr>(z), write<Fr>(out), threads);
      })
      .def("add_transposed", [](const SparseForms& forms, ConstWords y, ConstWords factors, Words out, int threads) {
        nb::gil_scoped_release release;
        forms.add_transposed(read<Fr>(y), read<Fr>(factors), count<Fr>(factors), write<Fr>(out), count<Fr>(out), threads);
      });

  m.def("csr_multiply", [](Array<const int64_t> offsets, Array<const uint32_t> columns,
                           Array<const uint32_t> coefficients, ConstWords pool, ConstWords z,
                           std::optional<Array<const int32_t>> shorts, Words out, int threads) {
    const int32_t* const short_z = shorts ? shorts->data() : nullptr;
    nb::gil_scoped_release release;
    multiply(sparse(offsets, columns, coefficients, pool), read<Fr>(z), short_z, write<Fr>(out), threads);
  }, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
  m.def("csr_multiply_transposed",
        [](Array<const int64_t> offsets, Array<const uint32_t> columns, Array<const uint32_t> coefficients,
           ConstWords pool, ConstWords y, std::optional<ConstWords> factor, Words out, int threads) {
          const Fr* const scale = factor ? read<Fr>(*factor) : nullptr;
          nb::gil_scoped_release release;
          multiply_transposed(sparse(offsets, columns, coefficients, pool), read<Fr>(y), scale, write<Fr>(out),
                              count<Fr>(out), threads);
        }, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
}

}  // namespace zen
