// The layers of a transform that one pass over memory makes: radix 4 over octets, of which none needs another's lanes.
//   scatter: natural order in, bit-reversed out (Cooley-Tukey butterflies, blocks halve)
//   gather:  bit-reversed order in, natural out (Gentleman-Sande butterflies, blocks double)
// Both take one twiddle for each block, read in bit-reversed order from the front of one table.
//
// A pass sees the array as blocks of matrices; block b of depth d takes the twiddle table[b]. Its tiles are some columns
// of a matrix, which share all twiddles, or, in the last layers, as many whole rows, each with its own: eight, or twelve
// (`Wide`).
#pragma once

#include "octet.hpp"

namespace zen {

// Neighbouring columns of a matrix with 2^layers rows, which is block `block` of its depth.
template <class Group>
struct Columns {
  using Factor = typename Group::Factor;

  Fr* first;
  long width;  // of a row
  const Fr* table;
  long block;
  int layers;

  // The processor does not guess that rows far from each other follow.
  Group load(long row) const {
    const Fr* const next = first + (row + 2) * width;
    for (int i = 0; i < Group::size; i += 2) __builtin_prefetch(next + i);
    return Group::adjacent(first + row * width);
  }
  void store(long row, const Group& x) const { x.store_adjacent(first + row * width); }
  Factor twiddle(int depth, long sub) const { return Factor::same(table[(block << depth) + sub]); }
  bool begins_with_one() const { return block == 0; }
};

// Neighbouring rows of 2^layers elements, blocks `block`, `block` + 1 .. of their depth.
template <class Group>
struct Rows {
  using Factor = typename Group::Factor;

  Fr* first;
  const Fr* table;
  long block;
  int layers;

  Group load(long i) const {
    for (long row = 0; row < Group::size; row++) __builtin_prefetch(first + i + 4 + (row << layers), 0, 2);
    return Group::strided(first + i, 1l << layers);
  }
  void store(long i, const Group& x) const { x.store_strided(first + i, 1l << layers); }
  Factor twiddle(int depth, long sub) const {
    const Fr* const first = table + (block << depth) + sub;
    for (long row = 0; row < Group::size; row++) __builtin_prefetch(first + 4 + (row << depth));
    return Factor::strided(first, 1l << depth);
  }
  static constexpr bool begins_with_one() { return false; }
};

// What stays in the cache. `At` is a value that lives in registers, or the place itself where there are too few.
template <class Group>
struct Kept {
  Group* buffer;
  typename Group::At operator()(long i) const { return buffer[i]; }
};
template <class Group>
struct Keep {
  Group* buffer;
  void operator()(long i, const Group& x) const {
    if (&x != buffer + i) x.copy_to(buffer[i]);
  }
};

// `read(i)` and `write(i, group)` say where the groups i < 2^layers, one element of each column or row, come from and go to.
template <class Tile, class Read, class Write>
void scatter_two_layers(const Tile& tile, int depth, Read read, Write write) {
  const long quarter = 1l << (tile.layers - depth - 2);
  const auto block = [&](long sub, const auto& outer, const auto& left, const typename Tile::Factor& right) {
    for (long i = 4 * quarter * sub, end = i + quarter; i < end; i++) {
      auto &&x0 = read(i), &&x1 = read(i + quarter), &&x2 = read(i + 2 * quarter), &&x3 = read(i + 3 * quarter);
      scatter(x0, x2, outer);
      scatter(x1, x3, outer);
      scatter(x0, x1, left);
      scatter(x2, x3, right);
      write(i, x0), write(i + quarter, x1), write(i + 2 * quarter, x2), write(i + 3 * quarter, x3);
    }
  };
  if (depth == 0 && tile.begins_with_one()) return block(0, One{}, One{}, tile.twiddle(1, 1));
  for (long sub = 0; sub < 1l << depth; sub++)
    block(sub, tile.twiddle(depth, sub), tile.twiddle(depth + 1, 2 * sub), tile.twiddle(depth + 1, 2 * sub + 1));
}

template <class Tile, class Read, class Write>
void gather_two_layers(const Tile& tile, int depth, Read read, Write write) {
  const long quarter = 1l << (tile.layers - depth - 2);
  const auto block = [&](long sub, const auto& outer, const auto& left, const typename Tile::Factor& right) {
    for (long i = 4 * quarter * sub, end = i + quarter; i < end; i++) {
      auto &&x0 = read(i), &&x1 = read(i + quarter), &&x2 = read(i + 2 * quarter), &&x3 = read(i + 3 * quarter);
      gather(x0, x1, left);
      gather(x2, x3, right);
      gather_sums(x0, x2, outer);
      gather(x1, x3, outer);
      if (depth) x0.bound();
      write(i, x0), write(i + quarter, x1), write(i + 2 * quarter, x2), write(i + 3 * quarter, x3);
    }
  };
  if (depth == 0 && tile.begins_with_one()) return block(0, One{}, One{}, tile.twiddle(1, 1));
  for (long sub = 0; sub < 1l << depth; sub++)
    block(sub, tile.twiddle(depth, sub), tile.twiddle(depth + 1, 2 * sub), tile.twiddle(depth + 1, 2 * sub + 1));
}

// The layer of depth 0 alone, where their number is odd.
template <class Tile, class Read, class Write, class Butterfly>
void one_layer(const Tile& tile, Read read, Write write, Butterfly butterfly) {
  const long half = 1l << (tile.layers - 1);
  const auto block = [&](const auto& twiddle) {
    for (long i = 0; i < half; i++) {
      auto &&x0 = read(i), &&x1 = read(i + half);
      butterfly(x0, x1, twiddle);
      write(i, x0), write(i + half, x1);
    }
  };
  if (tile.begins_with_one()) return block(One{});
  block(tile.twiddle(0, 0));
}

// All layers of a tile, at least three of them, by way of `buffer`, which holds 2^layers groups.
template <class Tile, class Group, class Read, class Write>
void scatter_tile(const Tile& tile, Group* buffer, Read read, Write write) {
  const Kept kept{buffer};
  const Keep keep{buffer};
  int depth = tile.layers % 2 ? 1 : 2;
  if (depth == 1)
    one_layer(tile, read, keep, [](Group& a, Group& b, const auto& w) { scatter(a, b, w); });
  else
    scatter_two_layers(tile, 0, read, keep);
  for (; depth < tile.layers - 2; depth += 2) scatter_two_layers(tile, depth, kept, keep);
  scatter_two_layers(tile, depth, kept, write);
}

// The layers of a tile but for the last two, which were made first.
template <class Tile, class Group, class Write>
void gather_further(const Tile& tile, Group* buffer, Write write) {
  const Kept kept{buffer};
  const Keep keep{buffer};
  int depth = tile.layers - 4;
  for (; depth > 0; depth -= 2) gather_two_layers(tile, depth, kept, keep);
  if (depth == 0)
    gather_two_layers(tile, 0, kept, write);
  else
    one_layer(tile, kept, write, [](Group& a, Group& b, const auto& w) { gather(a, b, w); });
}

template <class Tile, class Group, class Read, class Write>
void gather_tile(const Tile& tile, Group* buffer, Read read, Write write) {
  gather_two_layers(tile, tile.layers - 2, read, Keep{buffer});
  gather_further(tile, buffer, write);
}

// The first `count` groups alone of what gathering an even number of layers makes, a quarter of them at most: the last two
// layers add up, and multiply nothing.
template <class Tile, class Group, class Read, class Write>
void gather_first(const Tile& tile, Group* buffer, long count, Read read, Write write) {
  const Keep keep{buffer};
  const long quarter = 1l << (tile.layers - 2);
  gather_two_layers(tile, tile.layers - 2, read, keep);
  for (int depth = tile.layers - 4; depth > 0; depth -= 2) gather_two_layers(tile, depth, Kept{buffer}, keep);
  for (long i = 0; i < count; i++) {
    Group& sum = buffer[i];
    for (long k = 1; k < 4; k++) sum += buffer[i + k * quarter];
    write(i, sum);
  }
}

// The same as gather_tile where all groups but each fourth are zero: three products instead of four, and no sums. `read(i)` says where
// group 4 i comes from.
template <class Tile, class Group, class Read, class Write>
void spread_tile(const Tile& tile, Group* buffer, Read read, Write write) {
  const int depth = tile.layers - 2;
  for (long sub = 0; sub < 1l << depth; sub++) {
    const auto outer = tile.twiddle(depth, sub), left = tile.twiddle(depth + 1, 2 * sub);
    const Group x0 = read(sub), x1 = x0 * left;
    x0.copy_to(buffer[4 * sub]), x1.copy_to(buffer[4 * sub + 1]);
    (x0 * outer).copy_to(buffer[4 * sub + 2]), (x1 * outer).copy_to(buffer[4 * sub + 3]);
  }
  gather_further(tile, buffer, write);
}

}  // namespace zen
