# The emulator's programs, which load the modules of kernels. Kernels are compiled by clang, once for each way of watching them;
# everything else is C and compiled as usual.
#
#     bin/rungs-emulator       AddressSanitizer, UBSan, preemption at every basic block
#     bin/rungs-emulator-race  the race detector, which also sees uninitialised reads; built for the tests, or when it is asked for
#     bin/rungs-emulator-memory  values that were never set; likewise
if(RUNGS_EMULATOR)
    find_program(RUNGS_CLANGXX NAMES clang++ clang++-14 clang++-15 clang++-16 clang++-17 clang++-18 clang++-19)
    if(NOT RUNGS_CLANGXX)
        message(FATAL_ERROR "rungs: clang++ is missing: apt-get install clang, or configure with -DRUNGS_EMULATOR=OFF")
    endif()
endif()

# How kernels are compiled. Nothing is contracted or vectorised: the device's compiler decides for itself.
set(emulator_flags -x c++ -O1 -gdwarf-4 -gline-tables-only -fno-omit-frame-pointer -fPIC -fvisibility=hidden -ffp-contract=off -fno-vectorize -fno-slp-vectorize
    -Wall -Wextra -Wno-unused-function -Wno-missing-field-initializers -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -DRUNGS_EMULATED)
set(emulator_flags_plain -fsanitize-coverage=trace-pc,edge,no-prune) # calls the engine at every basic block
set(emulator_flags_asan -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-sanitize=function,vptr ${emulator_flags_plain})
set(emulator_flags_race -fsanitize=thread -mllvm -tsan-distinguish-volatile -mllvm -tsan-instrument-read-before-write=1
    -mllvm -tsan-instrument-func-entry-exit=0)
# Eager checks, clang 16's default, report an unset argument that nobody uses.
set(emulator_flags_memory -fsanitize=kernel-memory -mllvm -msan-eager-checks=0 -fignore-exceptions -fno-discard-value-names ${emulator_flags_plain})
set(emulator_link_plain)
set(emulator_link_asan -fsanitize=address,undefined -fno-sanitize=function,vptr)
set(emulator_link_race)
set(emulator_link_memory)
set(emulator_hooks_plain -Wl,-u,__sanitizer_cov_trace_pc) # what modules call
set(emulator_hooks_asan ${emulator_hooks_plain})
set(emulator_hooks_race -Wl,-u,race_hooks_linked)
set(emulator_hooks_memory ${emulator_hooks_plain} -Wl,-u,values_hooks_linked)
# In kernels malloc() is the device's heap; copies of structures are calls of these, which the race detector has to see.
foreach(kind plain asan race memory)
    set(emulator_names_${kind} --redefine-sym malloc=emulator_malloc --redefine-sym free=emulator_free)
endforeach()
list(APPEND emulator_names_race --redefine-sym memcpy=__tsan_memcpy --redefine-sym memmove=__tsan_memmove
                                --redefine-sym memset=__tsan_memset)
foreach(function modf modff frexp frexpf sincos sincosf) # of libm, that write memory
    list(APPEND emulator_names_memory --redefine-sym ${function}=emulator_${function})
endforeach()
set(RUNGS_EMULATOR_PROGRAM_asan rungs-emulator)
set(RUNGS_EMULATOR_PROGRAM_race rungs-emulator-race)
set(RUNGS_EMULATOR_PROGRAM_memory rungs-emulator-memory)
set(RUNGS_EMULATOR_KINDS asan race)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64) # clang has no kernel-memory elsewhere
    list(APPEND RUNGS_EMULATOR_KINDS memory)
endif()

# Places in messages begin below the project's folder: in debug information it is called /rungs (emulator/symbol.c), and the sanitizer is
# told its depth.
function(emulator_paths root out)
    string(REGEX MATCHALL "/" slashes ${root})
    list(LENGTH slashes depth)
    set(${out} -fmacro-prefix-map=${root}/= -fdebug-prefix-map=${root}/=/rungs/ -fsanitize-undefined-strip-path-components=${depth} PARENT_SCOPE)
endfunction()

# CUDA's headers and those of C++ are most of the work on a small kernel: precompiled, once for each way of watching. ccache keeps nothing
# that used them, so they are not where clang++ is ccache.
get_filename_component(compiler "${RUNGS_CLANGXX}" REALPATH)
set(RUNGS_EMULATOR_PRECOMPILES ON)
if(CMAKE_DISABLE_PRECOMPILE_HEADERS OR compiler MATCHES "/ccache$")
    set(RUNGS_EMULATOR_PRECOMPILES OFF)
endif()

# emulator_precompile(KIND OUT compiler options...): the file to give to -include-pch, and its target; nothing where there is none.
function(emulator_precompile kind out)
    set(${out} "" PARENT_SCOPE)
    if(NOT RUNGS_EMULATOR_PRECOMPILES)
        return()
    endif()
    set(source ${CMAKE_BINARY_DIR}/emulator/precompiled.h)
    set(header ${CMAKE_BINARY_DIR}/emulator/${kind}.pch)
    if(NOT TARGET emulator_precompiled_${kind})
        # Nothing of emulator/cuda.h, whose functions name the file that is compiled (RUNGS_UNIT).
        file(CONFIGURE OUTPUT ${source} CONTENT "#include <cuda_runtime.h>\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <memory>\n#include <string>\n")
        add_custom_command(OUTPUT ${header}
            COMMAND ${RUNGS_CLANGXX} ${ARGN} -x c++-header -MD -MF ${header}.d -c ${source} -o ${header}
            DEPENDS ${source} DEPFILE ${header}.d
            COMMENT "Precompiling the emulator's headers (${kind})" VERBATIM)
        add_custom_target(emulator_precompiled_${kind} DEPENDS ${header})
    endif()
    set(${out} ${header} PARENT_SCOPE)
endfunction()

# emulator_options(KIND PROJECT OPTIONS PRECOMPILED): how a kernel of the project is compiled for an emulator's program.
function(emulator_options kind project out out_precompiled)
    get_target_property(root ${project}_reference RUNGS_FOLDER)
    get_target_property(standard ${project}_reference RUNGS_CXX_STANDARD)
    get_target_property(includes ${project}_reference RUNGS_INCLUDES)
    emulator_paths(${root} paths)
    set(folders -I${RUNGS_EMULATED_INCLUDE})
    foreach(include ${RUNGS_INCLUDES} ${root}/impls ${includes})
        list(APPEND folders -I${include})
    endforeach()
    set(options ${emulator_flags} -std=c++${standard} ${paths} ${folders} -isystem ${RUNGS_CUDA_HEADERS} ${emulator_flags_${kind}})
    emulator_precompile(${kind} precompiled ${options})
    set(${out} ${options} PARENT_SCOPE)
    set(${out_precompiled} ${precompiled} PARENT_SCOPE)
endfunction()

# emulator_program(NAME KIND PROJECT FOLDER [SOURCES kernels...] [WHOLE library] LINK objects and libraries...): a program that is watched in one way, with
# kernels of its own (the emulator's self tests) or for modules.
function(emulator_program name kind)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "FOLDER;PROJECT;WHOLE" "SOURCES;LINK")
    set(objects)
    set(whole $<TARGET_FILE:rungs_emulator_engine> $<TARGET_FILE:rungs_base>)
    if(arg_WHOLE)
        list(APPEND whole $<TARGET_FILE:${arg_WHOLE}>)
    endif()
    if(arg_SOURCES)
        emulator_options(${kind} ${arg_PROJECT} options precompiled)
        if(precompiled)
            list(APPEND options -include-pch ${precompiled})
        endif()
    endif()
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/emulator/${kind} ${CMAKE_BINARY_DIR}/${arg_FOLDER})
    foreach(source ${arg_SOURCES})
        get_filename_component(stem ${source} NAME_WE)
        set(object ${CMAKE_BINARY_DIR}/emulator/${kind}/${stem}.o)
        add_custom_command(OUTPUT ${object}
            COMMAND ${RUNGS_CLANGXX} ${options} "-DRUNGS_UNIT=\"${stem}\"" -MD -MF ${object}.d -c ${source} -o ${object}
            COMMAND ${CMAKE_OBJCOPY} ${emulator_names_${kind}} ${object}
            DEPENDS ${source} ${precompiled} DEPFILE ${object}.d
            COMMENT "Emulating ${stem} (${kind})" VERBATIM)
        list(APPEND objects ${object})
    endforeach()
    set(program ${CMAKE_BINARY_DIR}/${arg_FOLDER}/${name})
    add_custom_command(OUTPUT ${program}
        COMMAND ${RUNGS_CLANGXX} ${emulator_link_${kind}} ${emulator_hooks_${kind}} -rdynamic -o ${program} ${objects} ${arg_LINK}
                -Wl,--whole-archive ${whole} -Wl,--no-whole-archive
                $<TARGET_FILE:rungs_emulator_hooks> $<TARGET_FILE:jansson> -lgomp -lm -ldl -lrt -lpthread
        DEPENDS ${objects} ${arg_LINK} ${whole} rungs_emulator_hooks
        COMMENT "Linking ${name}" COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(${name} DEPENDS ${program})
endfunction()

# rungs_emulator(PROJECT): the emulator's programs with the project's ops.
function(rungs_emulator project)
    foreach(kind ${RUNGS_EMULATOR_KINDS})
        emulator_program(${RUNGS_EMULATOR_PROGRAM_${kind}} ${kind} PROJECT ${project} FOLDER bin WHOLE ${project}_reference
                         LINK $<TARGET_FILE:rungs_emulator_host>)
    endforeach()
    add_custom_target(emulator ALL DEPENDS rungs-emulator)
endfunction()
