// CUDA's builtins on a CPU, included before a source of gpu/source that g++ compiles: device code runs where there
// is no device. Blocks run one after the other, on one thread of the system; the threads of a block are fibers, which
// run until they wait for each other. What a device would leave undefined is made to show: memory starts with a
// pattern, a wait that cannot end and an address out of bounds are errors, and every other block runs its threads from
// the last to the first. Every kernel is compiled after this file: it includes nothing that takes long to read.
#pragma once

#include <array>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

struct uint2 {
  unsigned x, y;
} __attribute__((aligned(8)));
struct uint4 {
  unsigned x, y, z, w;
} __attribute__((aligned(16)));
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

namespace zen_emulator {

using u64 = unsigned long long;

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

constexpr int warp_size = 32, most_threads = 1024;
constexpr unsigned all_lanes = 0xffffffff;
constexpr size_t stack_bytes = 256 << 10, most_shared_bytes = 227 << 10;
constexpr size_t shared_room = 256 << 10, guard_bytes = 64 << 10;  // whole pages of any system
constexpr int pattern = 0xa5;

struct Fiber {
  ucontext_t entry;
  jmp_buf place;
  bool entered = false;
};

enum class State { unstarted, ready, at_barrier, at_warp, spinning, finished };

struct Thread {
  State state;
  Fiber* fiber;
};

// Lanes leave values for each other. There are two sets, as a lane may be at the next exchange before another has read
// what the last one brought.
struct Exchange {
  u64 values[warp_size];
  unsigned lanes;
};
struct Warp {
  unsigned alive, arrived, phase;
  const char* operation;
  Exchange exchanges[2];
};

static Thread threads[most_threads];
static Warp warps[most_threads / warp_size];
static int current, alive, at_barrier;
static bool awaited;  // by a thread that spun
static Fiber fibers[most_threads];
static Fiber* idle[most_threads];
static int fiber_count, idle_count;
static jmp_buf scheduler;
static char error[512];
static void (*call)(void*, const u64*);
static void* kernel;
static const u64* arguments;

}  // namespace zen_emulator

static zen_emulator::Index threadIdx, blockIdx, blockDim, gridDim;
static unsigned char* zen_emulator_shared;  // dynamic shared memory; a page that cannot be touched follows

namespace zen_emulator {

[[noreturn]] __attribute__((format(printf, 1, 2))) static void fail(const char* format, ...) {
  std::va_list list;
  va_start(list, format);
  const int length = std::snprintf(error, sizeof error, "block (%u, %u), thread %d: ", blockIdx.x, blockIdx.y, current);
  std::vsnprintf(error + length, sizeof error - length, format, list);
  va_end(list);
  _longjmp(scheduler, 1);
}

static void wait(State state) {
  Thread& self = threads[current];
  self.state = state;
  if (!_setjmp(self.fiber->place)) _longjmp(scheduler, 1);
}

static void wake(int begin, int end, State waiting) {
  for (int i = begin; i < end; i++)
    if (threads[i].state == waiting) threads[i].state = State::ready;
}

static void release_barrier() {
  at_barrier = 0;
  wake(0, int(blockDim.x), State::at_barrier);
}

static void release_warp(int index) {
  Warp& warp = warps[index];
  Exchange& exchange = warp.exchanges[warp.phase % 2];
  exchange.lanes = warp.alive;
  for (int lane = 0; lane < warp_size; lane++)
    if (!(warp.alive >> lane & 1)) std::memset(&exchange.values[lane], pattern, sizeof(u64));
  warp.arrived = 0;
  warp.phase++;
  wake(warp_size * index, warp_size * (index + 1), State::at_warp);
}

static inline int lane_index() { return current % warp_size; }

static void barrier() {
  if (++at_barrier == alive) return release_barrier();
  wait(State::at_barrier);
}

// Another look at what other threads change comes once all that can run have run.
template <class Done>
static void spin_until(Done done) {
  while (!done()) wait(State::spinning);
  awaited = true;
}

// What every lane of the warp brought to this operation; lanes that returned early hold the pattern.
static const Exchange& exchange(const char* operation, unsigned mask, u64 value) {
  Warp& warp = warps[current / warp_size];
  if (mask != all_lanes) fail("%s with a mask that is not full", operation);
  if (warp.arrived && std::strcmp(warp.operation, operation))
    fail("%s, while other lanes of the warp wait at %s", operation, warp.operation);
  Exchange& mine = warp.exchanges[warp.phase % 2];
  mine.values[lane_index()] = value;
  warp.operation = operation;
  warp.arrived |= 1u << lane_index();
  if (warp.arrived == warp.alive)
    release_warp(current / warp_size);
  else
    wait(State::at_warp);
  return mine;
}

static void finish() {
  Thread& self = threads[current];
  Warp& warp = warps[current / warp_size];
  self.state = State::finished;
  idle[idle_count++] = self.fiber;
  warp.alive &= ~(1u << lane_index());
  if (--alive && at_barrier == alive) release_barrier();
  if (warp.alive && warp.arrived == warp.alive) release_warp(current / warp_size);
}

static void fiber_main() {
  for (;;) {
    call(kernel, arguments);
    jmp_buf& place = threads[current].fiber->place;
    finish();
    if (!_setjmp(place)) _longjmp(scheduler, 1);
  }
}

static Fiber* new_fiber() {
  auto* stack = static_cast<char*>(
      mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  mprotect(stack, guard_bytes, PROT_NONE);
  Fiber& fiber = fibers[fiber_count++];
  getcontext(&fiber.entry);
  fiber.entry.uc_stack.ss_sp = stack + guard_bytes;
  fiber.entry.uc_stack.ss_size = stack_bytes;
  fiber.entry.uc_link = nullptr;
  makecontext(&fiber.entry, fiber_main, 0);
  return &fiber;
}

static void resume(int index) {
  Thread& thread = threads[index];
  current = index;
  threadIdx.x = unsigned(index);
  if (thread.state == State::unstarted) {
    thread = {State::ready, idle_count ? idle[--idle_count] : new_fiber()};
  }
  if (_setjmp(scheduler)) return;
  if (thread.fiber->entered) _longjmp(thread.fiber->place, 1);
  thread.fiber->entered = true;
  setcontext(&thread.fiber->entry);
}

static bool run_warp(int index, bool backwards) {
  bool moved = false;
  for (bool again = true; again && !*error;) {
    again = false;
    for (int i = 0; i < warp_size && !*error; i++) {
      const int thread = warp_size * index + (backwards ? warp_size - 1 - i : i);
      if (threads[thread].state != State::unstarted && threads[thread].state != State::ready) continue;
      resume(thread);
      again = true;
      moved |= threads[thread].state != State::spinning;
    }
  }
  return moved;
}

static void report_deadlock() {
  int length = std::snprintf(error, sizeof error, "block (%u, %u): deadlock:", blockIdx.x, blockIdx.y);
  if (at_barrier) length += std::snprintf(error + length, sizeof error - length, " %d threads at __syncthreads;", at_barrier);
  int spinning = 0;
  for (int i = 0; i < int(blockDim.x); i++) spinning += threads[i].state == State::spinning;
  if (spinning) length += std::snprintf(error + length, sizeof error - length, " %d threads that spin;", spinning);
  for (int i = 0; i < int(blockDim.x) / warp_size && length < int(sizeof error) - 100; i++)
    if (warps[i].arrived)
      length += std::snprintf(error + length, sizeof error - length, " lanes %08x of warp %d at %s;", warps[i].arrived, i,
                              warps[i].operation);
}

static void run_block(size_t shared_bytes) {
  alive = int(blockDim.x);
  at_barrier = 0;
  const int count = alive / warp_size;
  const bool backwards = (blockIdx.x + blockIdx.y) % 2;
  for (int i = 0; i < alive; i++) threads[i] = {State::unstarted, nullptr};
  for (int i = 0; i < count; i++) warps[i].alive = all_lanes, warps[i].arrived = 0;
  std::memset(zen_emulator_shared, pattern, shared_bytes);
  for (int idle_rounds = 0; alive && !*error;) {
    bool moved = false;
    awaited = false;
    for (int i = 0; i < count && !*error; i++) moved |= run_warp(backwards ? count - 1 - i : i, backwards);
    idle_rounds = moved || awaited ? 0 : idle_rounds + 1;
    if (idle_rounds > 1 && !*error) report_deadlock();  // whoever spun has looked again
    wake(0, int(blockDim.x), State::spinning);
  }
}

static void on_fault(int, siginfo_t* information, void*) { fail("illegal address %p", information->si_addr); }

// Faults of a kernel become errors while one of these lives.
class FaultGuard {
 public:
  FaultGuard() {
    stack_t stack{};
    stack.ss_sp = memory_;
    stack.ss_size = sizeof memory_;
    sigaltstack(&stack, &old_stack_);
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &old_action_);
  }
  ~FaultGuard() {
    sigaction(SIGSEGV, &old_action_, nullptr);
    sigaltstack(&old_stack_, nullptr);
  }

 private:
  alignas(16) char memory_[64 << 10];
  stack_t old_stack_;
  struct sigaction old_action_;
};

// Integers and pointers take one 64-bit register or slot each, whatever their type.
template <size_t>
using Word = u64;
template <size_t... i>
static void call_all(void* function, const u64* words, std::index_sequence<i...>) {
  reinterpret_cast<void (*)(Word<i>...)>(function)(words[i]...);
}
template <size_t count>
static void call_counted(void* function, const u64* words) {
  call_all(function, words, std::make_index_sequence<count>());
}
template <size_t... counts>
constexpr auto callers(std::index_sequence<counts...>) {
  return std::array<void (*)(void*, const u64*), sizeof...(counts)>{call_counted<counts>...};
}
constexpr int most_arguments = 28;

// Null, or what went wrong. Launches take turns.
extern "C" __global__ const char* zen_launch(void* function, unsigned grid_x, unsigned grid_y, unsigned block,
                                             size_t shared_bytes, int count, const u64* words) {
  static constexpr auto by_count = callers(std::make_index_sequence<most_arguments + 1>());
  static auto* const shared = static_cast<unsigned char*>(
      mmap(nullptr, shared_room + guard_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (grid_x >> 31 || grid_y > 65535) return "the grid is too large";
  if (!block || block > most_threads || block % warp_size) return "a block must have whole warps, 1 to 32 of them";
  if (shared_bytes > most_shared_bytes) return "a block has at most 227 KiB of shared memory";
  if (count > most_arguments) return "too many arguments";
  mprotect(shared + shared_room, guard_bytes, PROT_NONE);
  zen_emulator_shared = shared + shared_room - (shared_bytes + 15) / 16 * 16;
  call = by_count[count], kernel = function, arguments = words;
  gridDim = {grid_x, grid_y, 1}, blockDim = {block, 1, 1};
  *error = 0;
  const FaultGuard guard;
  for (blockIdx.y = 0; blockIdx.y < grid_y && !*error; blockIdx.y++)
    for (blockIdx.x = 0; blockIdx.x < grid_x && !*error; blockIdx.x++) run_block(shared_bytes);
  if (!*error) return nullptr;
  for (int i = 0; i < fiber_count; i++) fibers[i].entered = false, idle[i] = &fibers[i];
  idle_count = fiber_count;  // fibers were left where they stood: they enter anew
  return error;
}

template <class T>
constexpr void require_word() {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "warps exchange 4- and 8-byte integers");
}

// The value of lane source(lane, begin, end) among the `width` neighbours [begin, end) that share with this lane.
template <class T, class Source>
static T shuffle(const char* operation, unsigned mask, T value, int width, Source source) {
  require_word<T>();
  const int lane = lane_index(), begin = lane & -width;
  const Exchange& all = exchange(operation, mask, u64(value));
  return T(all.values[source(lane, begin, begin + width)]);
}

template <class T, class Holds>
static unsigned lanes_where(const char* operation, unsigned mask, T value, Holds holds) {
  const Exchange& all = exchange(operation, mask, u64(value));
  unsigned lanes = 0;
  for (int lane = 0; lane < warp_size; lane++)
    if (all.lanes >> lane & 1 && holds(T(all.values[lane]))) lanes |= 1u << lane;
  return lanes;
}

template <class T, class Change>
static T atomic(T* address, Change change) {
  static_assert(std::is_same_v<T, unsigned> || std::is_same_v<T, u64>, "atomics work on unsigned and unsigned long long");
  const T old = *address;
  *address = change(old);
  return old;
}

template <class T>
using Same = std::type_identity_t<T>;

}  // namespace zen_emulator

static inline void __syncthreads() { zen_emulator::barrier(); }
static inline void __syncwarp(unsigned mask = zen_emulator::all_lanes) { zen_emulator::exchange("__syncwarp", mask, 0); }
static inline void __threadfence() {}

template <class T>
static T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return zen_emulator::shuffle("__shfl_sync", mask, value, width,
                               [=](int, int begin, int) { return begin + (source & (width - 1)); });
}
template <class T>
static T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return zen_emulator::shuffle("__shfl_up_sync", mask, value, width, [=](int lane, int begin, int) {
    return lane - int(delta) >= begin ? lane - int(delta) : lane;
  });
}
template <class T>
static T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return zen_emulator::shuffle("__shfl_down_sync", mask, value, width, [=](int lane, int, int end) {
    return lane + int(delta) < end ? lane + int(delta) : lane;
  });
}
template <class T>
static T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  return zen_emulator::shuffle("__shfl_xor_sync", mask, value, width,
                               [=](int lane, int, int end) { return (lane ^ bits) < end ? lane ^ bits : lane; });
}
static inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return zen_emulator::lanes_where("__ballot_sync", mask, predicate, [](int each) { return each != 0; });
}
static inline int __any_sync(unsigned mask, int predicate) {
  return zen_emulator::lanes_where("__any_sync", mask, predicate, [](int each) { return each != 0; }) != 0;
}
static inline int __all_sync(unsigned mask, int predicate) {
  return zen_emulator::lanes_where("__all_sync", mask, predicate, [](int each) { return each == 0; }) == 0;
}
template <class T>
static unsigned __match_any_sync(unsigned mask, T value) {
  zen_emulator::require_word<T>();
  return zen_emulator::lanes_where("__match_any_sync", mask, value, [=](T each) { return each == value; });
}

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
static inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
  return r;
}
static inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(static_cast<unsigned long long>(a) * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}

template <class T>
static T __ldg(const T* address) {
  return *address;
}
template <class T>
static T __ldcs(const T* address) {
  return *address;
}
template <class T>
static void __stcs(T* address, zen_emulator::Same<T> value) {
  *address = value;
}

template <class T>
static T atomicAdd(T* address, zen_emulator::Same<T> value) {
  return zen_emulator::atomic(address, [=](T old) { return old + value; });
}
template <class T>
static T atomicMin(T* address, zen_emulator::Same<T> value) {
  return zen_emulator::atomic(address, [=](T old) { return old < value ? old : value; });
}
template <class T>
static T atomicMax(T* address, zen_emulator::Same<T> value) {
  return zen_emulator::atomic(address, [=](T old) { return old < value ? value : old; });
}
template <class T>
static T atomicOr(T* address, zen_emulator::Same<T> value) {
  return zen_emulator::atomic(address, [=](T old) { return old | value; });
}
template <class T>
static T atomicExch(T* address, zen_emulator::Same<T> value) {
  return zen_emulator::atomic(address, [=](T) { return value; });
}
template <class T>
static T atomicCAS(T* address, zen_emulator::Same<T> expected, zen_emulator::Same<T> value) {
  return zen_emulator::atomic(address, [=](T old) { return old == expected ? value : old; });
}
