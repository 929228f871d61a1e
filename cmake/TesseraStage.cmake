# One target shape for every folder of src/.
#
#   tessera_stage(media DEPS core sandbox LIBS LCMS2::LCMS2)
#
# makes the static library tessera_media from src/media/*.cpp and, with tests on, the program
# tessera_media_test from src/media/*_test.cpp. DEPS names other folders; the same edges stand in
# src/layers.txt, and tests/tidy compares the includes with them. LIBS names third-party targets,
# LABEL the kind of its tests.

add_library(tessera_options INTERFACE)
target_include_directories(tessera_options INTERFACE "${CMAKE_SOURCE_DIR}/src")
target_link_libraries(tessera_options INTERFACE Threads::Threads)
target_compile_options(tessera_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Wcast-qual
  -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wimplicit-fallthrough
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  $<$<BOOL:${TESSERA_WERROR}>:-Werror>
  $<$<CONFIG:Debug>:-D_GLIBCXX_ASSERTIONS>)
if(TESSERA_SANITIZE)
  target_compile_options(tessera_options INTERFACE
    -fsanitize=${TESSERA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    -D_GLIBCXX_ASSERTIONS)
  target_link_options(tessera_options INTERFACE -fsanitize=${TESSERA_SANITIZE})
endif()

# Precompiled standard and GoogleTest headers: test builds compile in half the time. Off in release,
# so that every source is seen to include what it uses.
if(TESSERA_PCH)
  set(pch_source "${CMAKE_BINARY_DIR}/pch.cpp")
  file(WRITE "${pch_source}" "")
  foreach(kind pch test_pch)
    add_library(tessera_${kind} OBJECT "${pch_source}")
    target_link_libraries(tessera_${kind} PRIVATE tessera_options)
    target_compile_options(tessera_${kind} PRIVATE
      $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
    target_precompile_headers(tessera_${kind} PRIVATE <algorithm> <atomic> <chrono> <functional>
      <map> <memory> <mutex> <optional> <random> <span> <sstream> <stop_token> <string> <thread>
      <utility> <variant> <vector>)
  endforeach()
  target_link_libraries(tessera_test_pch PRIVATE GTest::gmock_main)
  target_precompile_headers(tessera_test_pch PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endif()
function(tessera_use_pch target kind)
  if(TESSERA_PCH)
    target_precompile_headers(${target} REUSE_FROM tessera_${kind})
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
  endif()
endfunction()

# Registers a GoogleTest program. LABEL: unit; sandbox (run by the release build too, because the
# system-call filter of a sanitizer build is wider); load (run by the release build too, with many
# times the load); model (needs the real runtime, run one at a time by the release build); tidy
# (reads the tree).
add_custom_target(model_tests)
add_custom_target(sandbox_tests)
add_custom_target(load_tests)
function(tessera_test target label)
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${label} TIMEOUT 300)
  if(TARGET ${label}_tests)
    add_dependencies(${label}_tests ${target})
  endif()
endfunction()

function(tessera_stage name)
  cmake_parse_arguments(ARG "" "LABEL" "DEPS;LIBS;TEST_LIBS" ${ARGN})
  string(REPLACE "/" "_" target "tessera_${name}")
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${name}/*.cpp")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|main)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  set(deps tessera_options)
  foreach(dep IN LISTS ARG_DEPS)
    string(REPLACE "/" "_" dep_target "tessera_${dep}")
    list(APPEND deps ${dep_target})
  endforeach()

  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC ${deps} ${ARG_LIBS})
    tessera_use_pch(${target} pch)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${deps} ${ARG_LIBS})
  endif()

  if(TESSERA_BUILD_TESTS AND tests)
    add_executable(${target}_test ${tests})
    target_link_libraries(${target}_test PRIVATE ${target} ${ARG_TEST_LIBS} GTest::gmock_main)
    target_compile_definitions(${target}_test PRIVATE TESSERA_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    if(NOT ARG_LABEL)
      set(ARG_LABEL unit)
    endif()
    tessera_use_pch(${target}_test test_pch)
    tessera_test(${target}_test ${ARG_LABEL})
  endif()
endfunction()
