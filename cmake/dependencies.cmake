# Libraries, all from the distribution; what is missing is named with its package. RUNGS_CUDA and RUNGS_EMULATOR are decided before, in a
# project by the prefix.

# EMULATED: the program knows the CUDA variants and leaves them to the emulator, which compiles their kernels by clang. Where there is
# no GPU that is all it could do with them, and nvcc would take half of the build.
set(RUNGS_CUDA_EMULATED OFF)
set(RUNGS_CUDA_CHOICE ${RUNGS_CUDA})
if(RUNGS_CUDA STREQUAL "EMULATED")
    set(RUNGS_CUDA_EMULATED ${RUNGS_EMULATOR})
    set(RUNGS_CUDA OFF) # here; the cache keeps the word
endif()

find_package(Python3 COMPONENTS Interpreter REQUIRED)
find_package(Threads REQUIRED)

function(rungs_require target package header)
    find_path(${target}_INCLUDE ${header})
    find_library(${target}_LIBRARY NAMES lib${target}.a ${target})
    if(NOT ${target}_INCLUDE OR NOT ${target}_LIBRARY)
        message(FATAL_ERROR "rungs: ${header} or lib${target} is missing: apt-get install ${package}")
    endif()
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${target}_LIBRARY})
endfunction()
rungs_require(jansson libjansson-dev jansson.h)
rungs_require(yaml libyaml-dev yaml.h)

find_library(BENCHMARK_LIBRARY benchmark)
if(NOT BENCHMARK_LIBRARY)
    message(FATAL_ERROR "rungs: libbenchmark is missing: apt-get install libbenchmark-dev")
endif()
add_library(benchmark::benchmark UNKNOWN IMPORTED)
set_target_properties(benchmark::benchmark PROPERTIES IMPORTED_LOCATION ${BENCHMARK_LIBRARY})
target_link_libraries(benchmark::benchmark INTERFACE Threads::Threads)

if(RUNGS_CUDA)
    set(RUNGS_CUDA_ARCHITECTURES "" CACHE STRING "compute capabilities, such as 90; empty: that of the GPU present, else 90")
    option(RUNGS_CUDA_UNTIMED "compile kernels three times as fast, and slower ones: where no GPU will run them" OFF)
    include(CheckLanguage)
    check_language(CUDA)
    if(NOT CMAKE_CUDA_COMPILER)
        message(FATAL_ERROR "rungs: nvcc is missing: put it on PATH, or name it in CUDACXX")
    endif()
    if(NOT RUNGS_CUDA_ARCHITECTURES)
        execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE failed)
        string(REGEX MATCH "[0-9]+\\.[0-9]+" found "${found}")
        string(REPLACE "." "" found "${found}")
        if(failed OR NOT found)
            set(found 90)
        endif()
        set(RUNGS_CUDA_ARCHITECTURES ${found})
    endif()
    set(CMAKE_CUDA_ARCHITECTURES ${RUNGS_CUDA_ARCHITECTURES})
    enable_language(CUDA)
    if(RUNGS_CUDA_UNTIMED AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
        string(APPEND CMAKE_CUDA_FLAGS " --Ofast-compile=max") # rows name the flags, so such a build cannot pass for another
    endif()
    set(RUNGS_CUB ${PROJECT_SOURCE_DIR}/build/cccl/nvidia/cu13/include/cccl) # of cmake/install.sh; -I comes before what nvcc has itself
    if(NOT EXISTS ${RUNGS_CUB})
        set(RUNGS_CUB "")
    endif()
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    find_package(CUDAToolkit REQUIRED)
    message(STATUS "rungs: CUDA ${CUDAToolkit_VERSION}, compute capability ${RUNGS_CUDA_ARCHITECTURES}")
endif()
if(RUNGS_EMULATOR)
    get_filename_component(toolkit "$ENV{CUDACXX}" DIRECTORY) # where nvcc is not used, its headers are
    find_path(RUNGS_CUDA_HEADERS cuda_runtime.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${toolkit}/../include $ENV{CUDA_HOME}/include
                                                     /usr/local/cuda/include)
    if(NOT RUNGS_CUDA_HEADERS)
        message(FATAL_ERROR "rungs: cuda_runtime.h is missing: the emulator needs the CUDA toolkit's headers; or configure with -DRUNGS_EMULATOR=OFF")
    endif()
endif()
