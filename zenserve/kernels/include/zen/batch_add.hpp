// Many independent affine additions at the price of one inversion: the engine of all group work. Each target has the
// adder that suits it, with one interface:
//
//   Summand<F>                a point in the form that the adder reads and writes fastest; trivially copyable, with
//                             infinity(), is_infinity() and unary minus
//   to_summands(in, out, n)   from Affine<F>
//   to_affine(in, out, n)     and back
//   endomorphism(in, out, n)  Endomorphism<F>::of each; `out` may be `in`
//   BatchAdder<F, Source>     runs additions in batches of `capacity`; Source, the operands' type, is Affine<F> or
//                             Summand<F>
//     push(left, right, out, negate_left, negate_right)    *out = +-*left +- *right, by the next flush at the latest
//     flush()
//     scratch_bytes()                                      the memory of an adder
//
// Equal, opposite and infinite operands give right results. `out` may be an operand of its own addition, but no other
// addition of the same batch may read or write it: between dependent additions stands a flush.
#pragma once

#if defined(ZEN_LANES) || defined(__AVX2__)
#include "batch_add_lanes.hpp"
#else
#include "batch_add_scalar.hpp"
#endif

namespace zen {

// sum += +-term, where sums often start at infinity, which batches add slowly.
template <class F>
ZEN_FN void accumulate(BatchAdder<F, Summand<F>>& adder, Summand<F>& sum, const Summand<F>& term, bool negate) {
  if (sum.is_infinity())
    sum = negate ? -term : term;
  else
    adder.push(&sum, &term, &sum, false, negate);
}

}  // namespace zen
