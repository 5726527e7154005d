// BLAKE3, one message or a part of one a thread: columns of matrices, Merkle trees, long vectors of elements, and
// streams that follow from a seed.
#include "zen/blake3.hpp"
#include "zen/field.hpp"
#include "patterns.hpp"

using namespace zen;

using Digest = Chain<u32>;

template <class T>
ZEN_FN void read_words(const T* from, u32* words) {
  const Digest digest = load(reinterpret_cast<const Digest*>(from));
  ZEN_UNROLL for (int i = 0; i < 8; i++) words[i] = digest.v[i];
}

// BLAKE3's key of a context of so many bytes, at most 64, with zeros behind.
ZEN_FN Digest context_key(const Digest* context, int bytes) {
  u32 m[16];
  read_words(context, m), read_words(context + 1, m + 8);
  Digest key;
  ZEN_UNROLL for (int i = 0; i < 8; i++) key.v[i] = blake3::initial(i);
  blake3::compress(key, m, 0, u32(bytes), blake3::chunk_start | blake3::chunk_end | blake3::root | blake3::key_context);
  return key;
}

extern "C" {

// leaves[k] = the hash of salts[k], if there are salts, and of column k of `rows` rows of 2^log_size entries; column k
// stands in place k, or in that of k's bits `reversed`.
__global__ void __launch_bounds__(128) columns(const Fr* matrix, long rows, int log_size, int reversed,
                                               const Digest* salts, const Digest* key, Digest* leaves) {
  const long place = thread_index(), n = 1l << log_size;
  if (place >= n) return;
  const long column = reversed ? reversed_bits(place, log_size) : place, salted = salts ? 1 : 0;
  store(leaves + column, hash(load(key), hash_bytes * (rows + salted), [=](long i, u32* words) {
    i < salted ? read_words(salts + column, words) : read_words(matrix + (i - salted) * n + place, words);
  }));
}

// Of a tree's nodes n .. 2 n - 1 a block has 2^levels, and makes as many levels above them: node i hashes 2 i, 2 i + 1.
__global__ void __launch_bounds__(128) tree(Digest* nodes, long n, int levels, const Digest* key) {
  for (int level = 1; level <= levels; level++) {
    const long width = 1l << (levels - level), first = (n >> level) + blockIdx.x * width;
    for (long i = first + threadIdx.x; i < first + width; i += blockDim.x)
      store(nodes + i, hash_pair(load(key), load(nodes + 2 * i), load(nodes + 2 * i + 1)));
    __syncthreads();
  }
}

// chains[i] = chunk i of the canonical bytes of n elements; if it is all there is, their hash.
__global__ void __launch_bounds__(128) chunks(const Fr* values, long n, const Digest* key, Digest* chains) {
  const long index = thread_index();
  if (index * chunk_bytes >= hash_bytes * n) return;
  store(chains + index, blake3::hash_chunk(load(key), hash_bytes * n, index, [=](long i, u32* words) {
    const Fr value = load(values + i).to_canonical();
    ZEN_UNROLL for (int k = 0; k < 8; k++) words[k] = value.v[k];
  }));
}

// A block merges 2 blockDim.x neighbours of n chains, which are used up, to out[block]: pairs on each level, an odd one
// goes up as it is. If there is one block that is the root.
__global__ void __launch_bounds__(128) merge_chains(Digest* chains, long n, const Digest* key, Digest* out) {
  Digest* const own = chains + 2 * blockIdx.x * long(blockDim.x);
  long count = n - 2 * blockIdx.x * long(blockDim.x);
  if (count > 2 * long(blockDim.x)) count = 2 * long(blockDim.x);
  const long i = threadIdx.x;
  for (; count > 1; count = (count + 1) / 2) {
    const u32 flags = blake3::keyed | blake3::parent | (gridDim.x == 1 && count == 2 ? blake3::root : 0);
    Digest merged{};
    if (2 * i + 1 < count)
      merged = blake3::merge(load(key), load(own + 2 * i), load(own + 2 * i + 1), flags);
    else if (2 * i < count)
      merged = load(own + 2 * i);
    __syncthreads();
    if (2 * i < count) store(own + i, merged);
    __syncthreads();
  }
  if (i == 0) store(out + blockIdx.x, load(own));
}

// What a derivation begins with.
__global__ void __launch_bounds__(128) derivation_key(const Digest* context, int bytes, Digest* out) {
  if (threadIdx.x == 0) store(out, context_key(context, bytes));
}

// 64 bytes a thread of the stream of BLAKE3's key derivation from `seed`; `context` has so many bytes, and zeros up to 64.
__global__ void __launch_bounds__(128)
    expand(const Digest* seed, const Digest* context, int context_bytes, Digest* out, long blocks) {
  const long block = thread_index();
  if (block >= blocks) return;
  const Digest key = context_key(context, context_bytes);
  u32 m[16] = {}, s[16];
  read_words(seed, m);
  const u32 whole = blake3::chunk_start | blake3::chunk_end | blake3::root;
  blake3::run_rounds(s, key, m, u64(block), hash_bytes, whole | blake3::key_material);
  Digest low, high;
  ZEN_UNROLL for (int i = 0; i < 8; i++) low.v[i] = s[i] ^ s[8 + i], high.v[i] = s[8 + i] ^ key.v[i];
  store(out + 2 * block, low), store(out + 2 * block + 1, high);
}

}
