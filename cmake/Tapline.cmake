# Helpers for all native targets in this repository, one per kind of target.
#
#   cc_library(NAME SOURCES… [DEPS…])    a static library; include paths of headers start at the repository's root
#   cc_test(NAME [PLAIN|ONLY_PLAIN] SOURCES… [DEPS…])
#                                        a GoogleTest program, run by ctest under sanitizers; PLAIN: also without them;
#                                        ONLY_PLAIN: only without them
#   tapline_test(NAME COMMAND…)          any other program, run by ctest
#   cc_fuzz(NAME SOURCES… [DEPS…] [CORPUS folder])
#                                        a libFuzzer program where TAPLINE_FUZZ is on (clang), else a ctest that replays
#                                        its corpus, under sanitizers
#   tapline_parser(NAME)                 parsers/NAME: NAME.cc, and NAME_test.cc, NAME_fuzz.cc where they exist
#
# A test of logic finds the same errors with sanitizers as without, so such tests are built and run once, in the
# sanitized tree. PLAIN marks tests for which time, memory, size or the optimizer's output matters; ONLY_PLAIN marks
# tests that process millions of packets, which takes minutes under a sanitizer. In the other tree, a test is a target
# that ninja builds only on request.
#
# ctest reports a test as skipped, not as passed, if all of it was skipped: GoogleTest programs (by test_main.cc) and
# scripts then exit with 77, and Python's unittest prints it in its last lines.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

set(TAPLINE_SANITIZE "" CACHE STRING "Sanitizers, for example address,undefined or thread")
option(TAPLINE_UNITY "Compile the files of a library in batches of eight: complete builds are faster, small changes slower" OFF)
option(TAPLINE_FUZZ "Build libFuzzer programs (needs clang)" OFF)
option(TAPLINE_DEMO "Configure only tapline-monitor: needs neither gRPC nor GoogleTest" OFF)
# DPDK itself requires x86-64-v2 (SSE4.2, popcnt).
set(TAPLINE_MARCH "x86-64-v2" CACHE STRING "Instruction set to compile for, for example native")

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -march=${TAPLINE_MARCH} -fno-omit-frame-pointer)
# GCC treats the files in a batch as headers, and warns about their types in anonymous namespaces.
if(TAPLINE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-subobject-linkage)
endif()
# Emits line tables and names for profilers and backtraces, but no variables for debuggers, which would take a third of
# the compiler's time.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
if(TAPLINE_SANITIZE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # The code tests these macros, which only GCC predefines.
    if(TAPLINE_SANITIZE MATCHES "address")
      add_compile_definitions(__SANITIZE_ADDRESS__=1)
    elseif(TAPLINE_SANITIZE MATCHES "thread")
      add_compile_definitions(__SANITIZE_THREAD__=1)
    endif()
  endif()
  add_compile_options(-fsanitize=${TAPLINE_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TAPLINE_SANITIZE})
  # These options halve the compile time, and errors still show file and line. Fuzzers need the speed of optimized code.
  if(NOT TAPLINE_FUZZ)
    set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -DNDEBUG")
  endif()
endif()
if(TAPLINE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Without precompiled headers, parsing standard headers and GoogleTest takes half of the compiler's time. With
# sanitizers, GCC 12 crashes on precompiled headers, so clang builds the instrumented trees.
set(TAPLINE_PRECOMPILE ON)
if(TAPLINE_FUZZ OR (TAPLINE_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"))
  set(TAPLINE_PRECOMPILE OFF)
endif()

# This is decided once: a ccache that is installed later would change every command, and so recompile everything.
if(NOT DEFINED CACHE{CCACHE})
  find_program(CCACHE ccache)
endif()
if(CCACHE)
  # Tells ccache how to treat precompiled headers, which contain no times.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  if(TAPLINE_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  elseif(TAPLINE_PRECOMPILE)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endif()

find_package(PkgConfig REQUIRED)
pkg_check_modules(DPDK REQUIRED IMPORTED_TARGET libdpdk)
# DPDK's flags contain a different -march, and clang rejects a precompiled header that was built for another CPU.
get_target_property(options PkgConfig::DPDK INTERFACE_COMPILE_OPTIONS)
list(FILTER options EXCLUDE REGEX "^-march=")
set_target_properties(PkgConfig::DPDK PROPERTIES INTERFACE_COMPILE_OPTIONS "${options}")
find_package(Protobuf REQUIRED)
if(NOT TAPLINE_DEMO)
  find_package(GTest REQUIRED)
endif()

if(TAPLINE_PRECOMPILE)
  add_library(tapline_precompiled OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/precompiled.cc)
  target_precompile_headers(tapline_precompiled PRIVATE ${CMAKE_CURRENT_LIST_DIR}/precompiled.h)
endif()

function(tapline_precompiled name from)
  if(TAPLINE_PRECOMPILE)
    target_precompile_headers(${name} REUSE_FROM ${from})
  endif()
endfunction()

function(cc_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  tapline_precompiled(${name} tapline_precompiled)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_DEPS})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${TAPLINE_UNITY})
endfunction()

function(tapline_test name)
  if(TAPLINE_DEMO)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES
    SKIP_RETURN_CODE 77 SKIP_REGULAR_EXPRESSION "Ran 0 tests in [^\n]*\n\nOK \\(skipped=")
endfunction()

if(NOT TAPLINE_DEMO)
  add_library(tapline_test_main STATIC EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/test_main.cc)
  target_link_libraries(tapline_test_main PUBLIC GTest::gtest)
  if(TAPLINE_SANITIZE STREQUAL "address,undefined")
    target_compile_options(tapline_test_main PRIVATE -O0)  # as tests are
  endif()
  if(TAPLINE_PRECOMPILE)
    target_precompile_headers(tapline_test_main PRIVATE ${CMAKE_CURRENT_LIST_DIR}/precompiled.h <gtest/gtest.h>)
  endif()
endif()

function(cc_test name)
  if(TAPLINE_DEMO)
    return()
  endif()
  cmake_parse_arguments(arg "PLAIN;ONLY_PLAIN" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} tapline_test_main)
  tapline_precompiled(${name} tapline_test_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_definitions(${name} PRIVATE TAPLINE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(TAPLINE_SANITIZE STREQUAL "address,undefined")
    # A test's code takes longer to compile than to run.
    target_compile_options(${name} PRIVATE -O0)
  endif()
  if((TAPLINE_SANITIZE AND NOT arg_ONLY_PLAIN) OR (NOT TAPLINE_SANITIZE AND (arg_PLAIN OR arg_ONLY_PLAIN)))
    tapline_test(${name} ${name})
  else()
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
endfunction()

function(cc_fuzz name)
  if(TAPLINE_DEMO)
    return()
  endif()
  cmake_parse_arguments(arg "" "CORPUS" "SOURCES;DEPS" ${ARGN})
  if(NOT arg_CORPUS)
    set(arg_CORPUS ${CMAKE_CURRENT_SOURCE_DIR}/corpus)
  endif()
  set(archive ${arg_CORPUS}_found.tar.zst)
  set(found)
  if(EXISTS ${archive})
    set(found --found ${CMAKE_BINARY_DIR}/fuzz/${name}_found)
    file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${CMAKE_BINARY_DIR}/fuzz/${name}_found)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive})
  endif()
  add_executable(${name} ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  if(TAPLINE_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    if(NOT TARGET fuzzers)
      add_custom_target(fuzzers)
    endif()
    add_dependencies(fuzzers ${name})
  else()
    # Without libFuzzer, the same entry point is run on the committed corpus, on mutations with a fixed seed, and on
    # libFuzzer's earlier findings.
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/parsers/testing/fuzz_replay.cc)
    if(TAPLINE_SANITIZE)
      tapline_test(${name} ${name} ${arg_CORPUS} ${found})
    else()
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    endif()
  endif()
endfunction()
