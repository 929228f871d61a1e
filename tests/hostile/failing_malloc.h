// An allocator that runs out, below the worker programs' own
// (src/media/codecs/worker_memory_main.cpp), to show what a worker does without memory. From a
// certain allocation on there is none, one allocation later with each child; after the first kDense
// of them, steps grow.
// @thread the process's first; allocations: any
#pragma once

namespace tessera::hostile {

/// Once, in the zygote, before it forks.
void prepare_to_starve();

/// In a child, before its decoder works, and until its end. Later calls do nothing.
void starve();

}  // namespace tessera::hostile
