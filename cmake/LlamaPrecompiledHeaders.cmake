# Read by CMake inside llama.cpp's own configuration (CMAKE_PROJECT_llama.cpp_INCLUDE): its 200
# model files include the same headers, and precompiling those saves a third of the build. Nothing
# of llama.cpp changes.
function(tessera_precompile_headers)
  # The time of a header must not change the precompiled file, or a compiler cache never hits.
  foreach(target llama mtmd)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>)
    get_target_property(directory ${target} SOURCE_DIR)
    target_precompile_headers(${target} PRIVATE "${directory}/models/models.h")
    # Only the model files: others refuse to be compiled with this header in view.
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources EXCLUDE REGEX "(^|/)models/")
    list(TRANSFORM sources PREPEND "${directory}/")
    set_source_files_properties(${sources} DIRECTORY "${directory}"
      PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endforeach()
endfunction()
# Its targets exist at the end.
cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL tessera_precompile_headers)
