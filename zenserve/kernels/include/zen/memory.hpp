// Memory of a kernel's own. Arrays of 16 MiB and more lie on large pages where the system has them: the processor does
// not keep the addresses of so many small ones. In smaller arrays what is not used should not be taken.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace zen {

// Elements that are not initialised.
template <class T>
class Buffer {
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit Buffer(long count) : data_(allocate(size_t(count) * sizeof(T))) {}

  T* data() const { return data_.get(); }
  T& operator[](long i) const { return data_.get()[i]; }
  void swap(Buffer& other) { data_.swap(other.data_); }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };

  static T* allocate(size_t bytes) {
    constexpr size_t large_page = 2 << 20, line = 64;
    const size_t alignment = bytes >= 8 * large_page ? large_page : line;
    const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, rounded ? rounded : alignment);
    if (!memory) throw std::bad_alloc();
#if defined(__linux__)
    if (alignment == large_page) madvise(memory, rounded, MADV_HUGEPAGE);  // advice: it may fail
#endif
    return static_cast<T*>(memory);
  }

  std::unique_ptr<T, Free> data_;
};

}  // namespace zen
