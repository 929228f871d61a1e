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
    -fsanitize=${TESSERA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS)
  target_link_options(tessera_options INTERFACE -fsanitize=${TESSERA_SANITIZE})
endif()

# Registers a GoogleTest program. LABEL: unit; model (needs the real runtime, run one at a time by the
# release build); tidy (reads the tree).
add_custom_target(model_tests)
function(tessera_test target label)
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${label} TIMEOUT 300)
  if(label STREQUAL "model")
    add_dependencies(model_tests ${target})
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
    tessera_test(${target}_test ${ARG_LABEL})
  endif()
endfunction()
