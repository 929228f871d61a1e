// Owning handles for libllama's and libmtmd's objects.
#pragma once

#include <ggml-cpu.h>
#include <llama.h>
#include <mtmd.h>

#include <memory>

namespace tessera::runtime::llama {

template <auto kFree>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using ModelHandle = std::unique_ptr<llama_model, Deleter<llama_model_free>>;
using ContextHandle = std::unique_ptr<llama_context, Deleter<llama_free>>;
using SamplerHandle = std::unique_ptr<llama_sampler, Deleter<llama_sampler_free>>;
using MtmdHandle = std::unique_ptr<mtmd_context, Deleter<mtmd_free>>;
using BitmapHandle = std::unique_ptr<mtmd_bitmap, Deleter<mtmd_bitmap_free>>;
using SegmentsHandle = std::unique_ptr<mtmd_input_chunks, Deleter<mtmd_input_chunks_free>>;
using TileBatchHandle = std::unique_ptr<mtmd_batch, Deleter<mtmd_batch_free>>;
using ThreadPoolHandle = std::unique_ptr<ggml_threadpool, Deleter<ggml_threadpool_free>>;

}  // namespace tessera::runtime::llama
