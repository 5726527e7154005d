// Multilinear polynomials as tables of 2^v values, the first variable the index's highest bit, and the rounds of
// sum-checks over them: each binds the variable of the round before, and sums over what its own leaves.
#include "zen/blake3.hpp"
#include "zen/operations.hpp"
#include "patterns.hpp"

using namespace zen;

// What a round says of a polynomial in the variable that it binds.
template <int coefficients>
struct Coefficients {
  Fr v[coefficients];
  friend ZEN_FN Coefficients operator+(const Coefficients& a, const Coefficients& b) {
    Coefficients sum;
    ZEN_UNROLL for (int i = 0; i < coefficients; i++) sum.v[i] = a.v[i] + b.v[i];
    return sum;
  }
};

// Tables one after the other, of 2 `half` values each, or of 4 `half` of which the first variable becomes *bound: then
// they are written to `next`.
struct Tables {
  const Fr* in;
  Fr* next;
  long half;
  Fr r;

  ZEN_FN Tables(const Fr* in, Fr* next, long half, const Fr* bound)
      : in(in), next(next), half(half), r(next ? load(bound) : Fr::zero()) {}

  // The values at i and i + half of a table.
  ZEN_FN void get(int table, long i, Fr& low, Fr& high) const {
    if (!next) {
      const Fr* const from = in + table * 2 * half + i;
      low = load(from), high = load(from + half);
      return;
    }
    const Fr* const from = in + table * 4 * half + i;
    low = load(from), high = load(from + half);
    low = low + r * (load(from + 2 * half) - low), high = high + r * (load(from + 3 * half) - high);
    Fr* const to = next + table * 2 * half + i;
    store(to, low), store(to + half, high);
  }
};

using Digest = Chain<u32>;

// A transcript's hashes: the keys of what absorbs and of what draws challenges; what stands before a round's numbers in
// their message; the message that asks for a challenge.
struct Voice {
  Digest absorb, challenge, frame, question;
};

// What is said of rounds, each one number behind one of `pads` if there are any, and a challenge `r` drawn. Where rounds
// leave out eq(zero, x): its coordinate and the inverse, and the claim, which is carried on.
struct Talk {
  const Fr *pads, *eq, *inverse;
  Fr* claim;
  const Voice* voice;
  int frame_bytes, question_bytes;
  Fr* said;
  Digest* state;
  Fr* r;

  ZEN_FN void advance(int width) {
    if (pads) pads += width;
    if (eq) eq++, inverse++;
    said += width, r++;
  }

  // By one block: what follows from the `width` sums of a round, in shared memory. A product takes one thread longer than
  // a hash: those that do not wait for each other are made side by side, by the first threads.
  __attribute__((noinline)) void speak(const Fr* sums, int width) const {
    constexpr int state_words = 8, message_words = 48, question_words = 16;
    __shared__ Fr parts[2];
    __shared__ u32 message[message_words], question[question_words];
    __shared__ Fr wide[2];
    const int thread = int(threadIdx.x);
    const bool first = thread < 32;
    const Fr constant = sums[0], leading = sums[1];
    Fr linear;
    Fr truth = sums[thread < width ? thread : 0];
    // t(X) = constant + linear X + leading X^2, and claim = (1 - weight) t(0) + weight t(1) = constant + weight (linear +
    // leading): the constant is not said.
    if (eq) {
      if (first) linear = (load(claim) - constant) * load(inverse) - leading;
      truth = thread ? leading : linear;
    }
    if (thread < width) store(said + thread, (pads ? truth + load(pads + thread) : truth).to_canonical());
    __syncthreads();
    const int data = 4 * state_words + frame_bytes, bytes = data + 32 * width;
    for (int k = thread; k < 4 * message_words; k += int(blockDim.x)) {
      const auto byte = [](const auto* from, int i) { return reinterpret_cast<const unsigned char*>(from)[i]; };
      reinterpret_cast<unsigned char*>(message)[k] = k < 4 * state_words ? byte(state, k)
                                                     : k < data          ? byte(&voice->frame, k - 4 * state_words)
                                                     : k < bytes         ? byte(said, k - data)
                                                                         : 0;
      if (k < 4 * question_words)
        reinterpret_cast<unsigned char*>(question)[k] =
            k >= 4 * state_words && k < 4 * state_words + question_bytes ? byte(&voice->question, k - 4 * state_words) : 0;
    }
    __syncthreads();
    if (thread == 0) {
      Digest down, up;
      blake3::derive(load(&voice->absorb), message, bytes, down, up);
      for (int i = 0; i < state_words; i++) question[i] = down.v[i];
      blake3::derive(load(&voice->absorb), question, 4 * state_words + question_bytes, down, up);
      store(state, down);
      for (int i = 0; i < 2 * state_words; i++) question[i] = i < state_words ? down.v[i] : 0;
      blake3::derive(load(&voice->challenge), question, 4 * state_words, down, up);
      for (int i = 0; i < state_words; i++) wide[0].v[i] = down.v[i], wide[1].v[i] = up.v[i];
    }
    __syncthreads();
    // 64 bytes as an integer modulo r: 2^256 < 3 r, and a sum with zero takes off r once.
    if (first) {
      const Fr part = (wide[thread & 1] + Fr::zero() + Fr::zero()).to_montgomery();
      if (thread < 2) parts[thread] = part;
    }
    __syncthreads();
    if (!first) return;
    const Fr drawn = parts[0] + parts[1].to_montgomery();
    if (thread == 0) store(r, drawn);
    if (eq && thread == 0) store(claim, constant + drawn * (linear + leading * drawn));
  }
};

// What a round adds up at i.
struct ProductTerms {
  static constexpr int sums = 2;
  ZEN_FN int tables() const { return 2; }
  ZEN_FN void add(Coefficients<2>& sum, const Tables& tables, long i) const {
    Fr a, da, b, db;
    tables.get(0, i, a, da), tables.get(1, i, b, db);
    sum.v[0] = sum.v[0] + a * b;
    sum.v[1] = sum.v[1] + (da - a) * (db - b);
  }
};

struct R1csTerms {
  const Fr* suffixes;  // of eq(zero, x)
  static constexpr int sums = 2;
  ZEN_FN int tables() const { return 3; }
  ZEN_FN void add(Coefficients<2>& sum, const Tables& tables, long i) const { add(sum, tables, i, load(suffixes + tables.half + i)); }
  static ZEN_FN void add(Coefficients<2>& sum, const Tables& tables, long i, const Fr& weight) {
    Fr a, da, b, db, c, dc;
    tables.get(0, i, a, da), tables.get(1, i, b, db), tables.get(2, i, c, dc);
    sum.v[0] = sum.v[0] + (a * b - c) * weight;
    sum.v[1] = sum.v[1] + (da - a) * (db - b) * weight;
  }
};

struct CubicTerms {
  int triples;
  static constexpr int sums = 3;
  ZEN_FN int tables() const { return 3 * triples; }
  ZEN_FN void add(Coefficients<3>& sum, const Tables& tables, long i) const {
    for (int triple = 0; triple < triples; triple++) {
      Fr a, da, b, db, c, dc;
      tables.get(3 * triple, i, a, da), tables.get(3 * triple + 1, i, b, db), tables.get(3 * triple + 2, i, c, dc);
      da = da - a, db = db - b, dc = dc - c;
      sum.v[0] = sum.v[0] + a * b * c;
      sum.v[1] = sum.v[1] + (a - da) * (b - db) * (c - dc);
      sum.v[2] = sum.v[2] + da * db * dc;
    }
  }
};

// So many rounds, by one block: what is folded is written to `room`, one table after the other.
template <class Terms>
ZEN_FN void last_rounds(const Fr* in, Fr* room, long half, const Fr* bound, int rounds, const Terms& terms, Talk talk) {
  using Sums = Coefficients<Terms::sums>;
  __shared__ Sums sums;
  for (; rounds; rounds--, half /= 2) {
    const Tables tables(in, bound ? room : nullptr, half, bound);
    Sums sum{};
    for (long i = threadIdx.x; i < half; i += blockDim.x) terms.add(sum, tables, i);
    sum = reduce_block<Sum<Sums>>(sum);
    if (threadIdx.x == 0) sums = sum;
    __syncthreads();
    talk.speak(sums.v, Terms::sums);
    __syncthreads();
    if (bound) in = room, room += terms.tables() * 2 * half;
    bound = talk.r;
    talk.advance(Terms::sums);
  }
}

extern "C" {

// suffixes[2^j .. 2^(j + 1)) = eq(the last j of n coordinates, x) for j <= n: of the first `split` coordinates `high`, by
// one block, of all others `low`, by another.
__global__ void __launch_bounds__(512) eq_suffixes(const Fr* coordinates, int split, int count, Fr* high, Fr* low) {
  const Fr* const point = coordinates + (blockIdx.x ? split : 0);
  Fr* const suffixes = blockIdx.x ? low : high;
  const int n = blockIdx.x ? count - split : split;
  if (threadIdx.x == 0) store(suffixes + 1, Fr::one());
  for (int j = 0; j < n; j++) {
    __syncthreads();
    const Fr r = load(point + n - 1 - j);
    const long size = 1l << j;
    for (long i = threadIdx.x; i < size; i += blockDim.x) {
      const Fr value = load(suffixes + size + i), upper = value * r;
      store(suffixes + 2 * size + i, value - upper), store(suffixes + 3 * size + i, upper);
    }
  }
}

// out[i] = high[i / 2^bits] low[i mod 2^bits]
__global__ void eq_product(const Fr* high, const Fr* low, int bits, long n, Fr* out) {
  const long i = thread_index();
  if (i < n) store(out + i, load(high + (i >> bits)) * load(low + (i & ((1l << bits) - 1))));
}

// The sum over i < half of high[i / 2^bits] low[i mod 2^bits] (a b - c)(X): its value at 0 and its coefficient of X^2.
// The number of threads is a multiple of 2^bits, or at least half: so each has one entry of `low`.
__global__ void __launch_bounds__(256)
    r1cs_round(const Fr* in, Fr* next, long half, const Fr* bound, const Fr* high, const Fr* low, int bits,
               Coefficients<2>* out) {
  const Tables tables(in, next, half, bound);
  Coefficients<2> sum{};
  for (long i = thread_index(); i < half; i += all_threads()) {
    R1csTerms::add(sum, tables, i, load(high + (i >> bits)));
  }
  if (thread_index() < half) {
    const Fr weight = load(low + (thread_index() & ((1l << bits) - 1)));
    sum.v[0] = sum.v[0] * weight, sum.v[1] = sum.v[1] * weight;
  }
  sum = reduce_block<Sum<Coefficients<2>>>(sum);
  if (threadIdx.x == 0) store(out + blockIdx.x, sum);
}

// The sum over i < half of (a b)(X): its value at 0 and its coefficient of X^2.
__global__ void __launch_bounds__(256)
    product_round(const Fr* in, Fr* next, long half, const Fr* bound, Coefficients<2>* out) {
  const Tables tables(in, next, half, bound);
  reduce<Sum<Coefficients<2>>>(half, out, [=](Coefficients<2>& sum, long i) { ProductTerms{}.add(sum, tables, i); });
}

// The sum over i < half and over `triples` of (a b c)(X): its values at 0 and -1, and its coefficient of X^3.
__global__ void __launch_bounds__(256)
    cubic_round(const Fr* in, Fr* next, long half, const Fr* bound, int triples, Coefficients<3>* out) {
  const Tables tables(in, next, half, bound);
  reduce<Sum<Coefficients<3>>>(half, out, [=](Coefficients<3>& sum, long i) { CubicTerms{triples}.add(sum, tables, i); });
}

// The sum of values[i] high[i / 2^bits] low[i mod 2^bits], a block's in out[block].
__global__ void __launch_bounds__(256)
    weighted_sum(const Fr* values, const Fr* high, const Fr* low, int bits, long n, Fr* out) {
  reduce<Sum<Fr>>(n, out, [=](Fr& sum, long i) {
    sum = sum + load(values + i) * load(high + (i >> bits)) * load(low + (i & ((1l << bits) - 1)));
  });
}

// out[0] = the sum of n partial sums, by one block.
__global__ void __launch_bounds__(256) add_partial(const Fr* partial, long n, Fr* out) {
  reduce<Sum<Fr>>(n, out, [=](Fr& sum, long i) { sum = sum + load(partial + i); });
}

// What follows a round, by one block. `width` columns of n partial sums are added up. What they make is `said`, with a pad
// each, canonical: after that the transcript has a new `state`, and a challenge `r`.
__global__ void __launch_bounds__(256)
    say_round(const Fr* partial, long n, int width, const Fr* pads, const Fr* eq, const Fr* inverse, Fr* claim,
              const Voice* voice, int frame_bytes, int question_bytes, Fr* said, Digest* state, Fr* r) {
  __shared__ Fr sums[3];
  for (int column = 0; column < width; column++)
    reduce<Sum<Fr>>(threadIdx.x, n, blockDim.x, sums + column, [=](Fr& sum, long i) { sum = sum + load(partial + i * width + column); });
  __syncthreads();
  Talk{pads, eq, inverse, claim, voice, frame_bytes, question_bytes, said, state, r}.speak(sums, width);
}

// Rounds of few values, by one block; what is said of them one after the other.
__global__ void __launch_bounds__(128)
    last_r1cs_rounds(const Fr* in, Fr* room, long half, const Fr* bound, int rounds, const Fr* suffixes, const Fr* pads, const Fr* eq,
                     const Fr* inverse, Fr* claim, const Voice* voice, int frame_bytes, int question_bytes, Fr* said, Digest* state, Fr* r) {
  last_rounds(in, room, half, bound, rounds, R1csTerms{suffixes},
              Talk{pads, eq, inverse, claim, voice, frame_bytes, question_bytes, said, state, r});
}
__global__ void __launch_bounds__(128)
    last_product_rounds(const Fr* in, Fr* room, long half, const Fr* bound, int rounds, const Fr* pads, const Fr* eq, const Fr* inverse,
                        Fr* claim, const Voice* voice, int frame_bytes, int question_bytes, Fr* said, Digest* state, Fr* r) {
  last_rounds(in, room, half, bound, rounds, ProductTerms{},
              Talk{pads, eq, inverse, claim, voice, frame_bytes, question_bytes, said, state, r});
}

// Tables of 2 `half` values each, their first variable becomes *bound.
__global__ void fold(const Fr* in, long half, long n, const Fr* bound, Fr* out) {
  const long at = thread_index();
  if (at >= n) return;
  const Fr* const from = in + at / half * 2 * half + at % half;
  const Fr low = load(from);
  store(out + at, low + load(bound) * (load(from + half) - low));
}

}
