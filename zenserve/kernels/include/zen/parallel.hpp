// Work split over threads that live as long as the call. CPU only.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace zen {

// Called on the calling thread with the fraction done (0 to 1). To stop the computation, throw.
using Progress = std::function<void(double)>;

// The progress of stage `index` of `count` equal ones.
inline Progress part(const Progress& whole, int index, int count) {
  if (!whole) return {};
  return [&whole, index, count](double fraction) { whole((index + fraction) / count); };
}

// Run task(0) .. task(count - 1), in any order, on `threads` threads, the caller's among them.
// `task` takes (index) or (index, thread). The first exception stops the rest and is rethrown here.
template <class Task>
void parallel_for(long count, int threads, const Progress& progress, Task task) {
  std::atomic<long> next{0};
  std::atomic<long> done{0};
  std::atomic<bool> stop{false};
  std::exception_ptr failure;
  std::atomic<bool> failed{false};

  const auto work = [&](int thread) {
    try {
      for (long i; !stop && (i = next++) < count;) {
        task(i, thread);
        const long finished = ++done;
        if (thread == 0 && progress && finished < count) progress(double(finished) / double(count));
      }
    } catch (...) {
      stop = true;
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };

  {
    std::vector<std::jthread> helpers;
    for (int thread = 1; thread < threads && thread < count; thread++) helpers.emplace_back(work, thread);
    work(0);
  }
  if (failure) std::rethrow_exception(failure);
  if (progress) progress(1);
}

// Split [0, n) into pieces of at most `grain` and run task(begin, end) over them.
template <class Task>
void parallel_ranges(long n, long grain, int threads, const Progress& progress, Task task) {
  const long pieces = (n + grain - 1) / grain;
  parallel_for(pieces, threads, progress, [&](long i, int) {
    const long begin = i * grain;
    task(begin, begin + grain < n ? begin + grain : n);
  });
}

// A grain that gives every thread several pieces of n, so that all end at about the same time, but none below `least`.
inline long balanced_grain(long n, int threads, long least, long most) {
  const long share = threads > 1 ? n / (4 * threads) : n;
  return share < least ? least : share > most ? most : share;
}

}  // namespace zen
