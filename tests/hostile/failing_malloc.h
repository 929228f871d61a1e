// A program's allocator that runs out: for worker programs that show what a decoder does without
// memory. Linking failing_malloc.cpp replaces malloc and operator new for the program and the
// libraries that it loads.
//
// A worker has no arguments, so that the name under which it was started says which kind of hunger:
//
//   …-after  from a certain allocation on there is no memory
//   …-once   only that one allocation fails, as when a large block does not fit and small ones do
//
// It is one allocation later with each child; after the first kDense of them, steps grow.
// @thread prepare and starve: the process's first; allocations: any
#pragma once

#include <string_view>

namespace tessera::hostile {

/// Once, in the zygote, before it forks.
/// @param program  its name
void prepare_to_starve(std::string_view program);

/// In a child, before its decoder works; once, later calls do nothing.
void starve();

}  // namespace tessera::hostile
