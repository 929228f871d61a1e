# tessera::llama: the pinned libllama, libmtmd and llama-common that `./x build` made once, outside
# our presets and with its own flags (docs/decisions/0001-llama-dependency.md). Only
# src/runtime/llama links it.

set(TESSERA_LLAMA_LIBRARIES
  tools/mtmd/libmtmd.a common/libllama-common.a common/libllama-common-base.a src/libllama.a
  ggml/src/libggml.a ggml/src/libggml-cpu.a ggml/src/libggml-base.a
  vendor/cpp-httplib/libcpp-httplib.a vendor/hash/libvendor-hash.a)
list(TRANSFORM TESSERA_LLAMA_LIBRARIES PREPEND "${TESSERA_LLAMA_BUILD}/")
foreach(library IN LISTS TESSERA_LLAMA_LIBRARIES)
  if(NOT EXISTS "${library}")
    message(FATAL_ERROR
      "${library} is missing. Run ./x llama, or configure with -DTESSERA_RUNTIME=fake.")
  endif()
endforeach()

# What `tessera version` says; empty for a source that is no clone.
execute_process(COMMAND git -C "${TESSERA_LLAMA_SOURCE}" rev-parse --short=12 HEAD
  OUTPUT_VARIABLE TESSERA_LLAMA_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)

add_library(tessera_llama_native INTERFACE)
target_include_directories(tessera_llama_native SYSTEM INTERFACE
  "${TESSERA_LLAMA_SOURCE}/include" "${TESSERA_LLAMA_SOURCE}/ggml/include"
  "${TESSERA_LLAMA_SOURCE}/ggml/src" "${TESSERA_LLAMA_SOURCE}/tools/mtmd"
  "${TESSERA_LLAMA_SOURCE}/common")
# A group, because the archives need each other.
target_link_libraries(tessera_llama_native INTERFACE
  -Wl,--start-group ${TESSERA_LLAMA_LIBRARIES} -Wl,--end-group
  Threads::Threads ${CMAKE_DL_LIBS} m)
add_library(tessera::llama ALIAS tessera_llama_native)
