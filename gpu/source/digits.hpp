// What is known of a digit once it is sorted: the point of the table that it stands for, and its sign.
#pragma once

#include "memory.hpp"

namespace zen {

constexpr u32 negative_digit = 1u << 31;  // beside the point's place in the table

}  // namespace zen
