# Read by CMake inside llama.cpp's own configuration (CMAKE_PROJECT_llama.cpp_INCLUDE): its 200
# model files include the same headers, and precompiling those saves a third of the build. Nothing
# of llama.cpp changes.
function(tessera_precompile_headers)
  # The time of a header must not change the precompiled file, or a compiler cache never hits.
  foreach(target llama mtmd llama-common)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>)
  endforeach()
  target_precompile_headers(llama PRIVATE "${CMAKE_SOURCE_DIR}/src/models/models.h")
  target_precompile_headers(mtmd PRIVATE "${CMAKE_SOURCE_DIR}/tools/mtmd/models/models.h")
  target_precompile_headers(llama-common PRIVATE "${CMAKE_SOURCE_DIR}/common/chat.h")
endfunction()
# Its targets exist at the end.
cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL tessera_precompile_headers)
