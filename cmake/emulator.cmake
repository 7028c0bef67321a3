# The emulator's programs. Kernels are compiled by clang, once for each way of watching them; everything else is C and compiled as
# usual. Adding a variant changes nothing here.
#
#     bin/rungs-emulator       AddressSanitizer, UBSan, preemption at every basic block
#     bin/rungs-emulator-race  the race detector, which also sees uninitialised reads; built for the tests, or when it is asked for
if(RUNGS_EMULATOR)
    find_program(RUNGS_CLANGXX NAMES clang++ clang++-14 clang++-15 clang++-16 clang++-17 clang++-18 clang++-19)
    if(NOT RUNGS_CLANGXX)
        message(FATAL_ERROR "rungs: clang++ is missing: apt-get install clang, or configure with -DRUNGS_EMULATOR=OFF")
    endif()
endif()

# How kernels are compiled. Nothing is contracted or vectorised: the device's compiler decides for itself.
set(emulator_flags -x c++ -O1 -gdwarf-4 -gline-tables-only -fno-omit-frame-pointer -ffp-contract=off -fno-vectorize -fno-slp-vectorize
    -Wall -Wextra -Wno-unused-function -Wno-missing-field-initializers -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -DRUNGS_EMULATED)
set(emulator_flags_plain -fsanitize-coverage=trace-pc,edge,no-prune) # calls the engine at every basic block
set(emulator_flags_asan -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-sanitize=function,vptr ${emulator_flags_plain})
set(emulator_flags_race -fsanitize=thread -mllvm -tsan-distinguish-volatile -mllvm -tsan-instrument-read-before-write=1
    -mllvm -tsan-instrument-func-entry-exit=0)
set(emulator_link_plain)
set(emulator_link_asan -fsanitize=address,undefined -fno-sanitize=function,vptr)
set(emulator_link_race)

# emulator_worker(TARGET IMPLS): the emulator's table of the kernels of a registry (rungs_registry, in the same folder), compiled for an
# emulator's program.
function(emulator_worker target impls)
    add_library(${target} OBJECT ${CMAKE_BINARY_DIR}/${impls}_emulator_registry.c)
    add_dependencies(${target} ${impls}_tables)
    target_link_libraries(${target} PRIVATE rungs_emulator_options)
endfunction()

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
        file(CONFIGURE OUTPUT ${source} CONTENT "#include <cuda_runtime.h>\n#include <memory>\n#include <string>\n#include \"variant.h\"\n")
        add_custom_command(OUTPUT ${header}
            COMMAND ${RUNGS_CLANGXX} ${ARGN} -x c++-header -MD -MF ${header}.d -c ${source} -o ${header}
            DEPENDS ${source} DEPFILE ${header}.d
            COMMENT "Precompiling the emulator's headers (${kind})" VERBATIM)
        add_custom_target(emulator_precompiled_${kind} DEPENDS ${header})
    endif()
    set(${out} ${header} PARENT_SCOPE)
endfunction()

# emulator_program(NAME KIND PROJECT project FOLDER folder SOURCES kernels... LINK objects and libraries...): a program of kernels watched in
# one way.
function(emulator_program name kind)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "FOLDER;PROJECT" "SOURCES;LINK")
    get_target_property(root ${arg_PROJECT}_reference RUNGS_FOLDER)
    get_target_property(standard ${arg_PROJECT}_reference RUNGS_CXX_STANDARD)
    get_target_property(includes ${arg_PROJECT}_reference RUNGS_INCLUDES)
    emulator_paths(${root} paths)
    set(folders -I${RUNGS_EMULATED_INCLUDE})
    foreach(include ${RUNGS_INCLUDES} ${root}/impls ${includes})
        list(APPEND folders -I${include})
    endforeach()
    set(options ${emulator_flags} -std=c++${standard} ${paths} ${folders} -isystem ${RUNGS_CUDA_HEADERS} ${emulator_flags_${kind}})
    emulator_precompile(${kind} precompiled ${options})
    set(use_precompiled)
    if(precompiled)
        set(use_precompiled -include-pch ${precompiled})
    endif()
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/emulator/${kind} ${CMAKE_BINARY_DIR}/${arg_FOLDER})
    set(objects)
    foreach(source ${arg_SOURCES})
        get_filename_component(folder ${source} DIRECTORY)
        get_filename_component(folder ${folder} NAME)
        get_filename_component(stem ${source} NAME_WE)
        set(object ${CMAKE_BINARY_DIR}/emulator/${kind}/${folder}__${stem}.o)
        set(names --redefine-sym malloc=emulator_malloc --redefine-sym free=emulator_free) # in kernels, the device's heap
        if(kind STREQUAL "race") # copies of structures are calls of these: let the detector see them
            list(APPEND names --redefine-sym memcpy=__tsan_memcpy --redefine-sym memmove=__tsan_memmove --redefine-sym memset=__tsan_memset)
        endif()
        add_custom_command(OUTPUT ${object}
            COMMAND ${RUNGS_CLANGXX} ${options} ${use_precompiled} "-DRUNGS_UNIT=\"${folder}__${stem}\"" -MD -MF ${object}.d
                    -c ${source} -o ${object}
            COMMAND ${CMAKE_OBJCOPY} ${names} ${object}
            DEPENDS ${source} ${precompiled} DEPFILE ${object}.d
            COMMENT "Emulating ${folder}/${stem} (${kind})" VERBATIM)
        list(APPEND objects ${object})
    endforeach()
    set(program ${CMAKE_BINARY_DIR}/${arg_FOLDER}/${name})
    add_custom_command(OUTPUT ${program}
        COMMAND ${RUNGS_CLANGXX} ${emulator_link_${kind}} -o ${program} ${objects} ${arg_LINK} $<TARGET_FILE:rungs_emulator_engine>
                $<TARGET_FILE:rungs_base> -lgomp -lm -ldl -lrt -lpthread
        DEPENDS ${objects} ${arg_LINK} rungs_emulator_engine rungs_base
        COMMENT "Linking ${name}" COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(${name} DEPENDS ${program})
endfunction()

# emulator_libraries(PROJECT OUT): what a worker in the emulator is made of, beside kernels and their registry.
function(emulator_libraries project out)
    set(${out} $<TARGET_FILE:rungs_emulator_host> $<TARGET_FILE:${project}_impls_shared> $<TARGET_FILE:rungs_emulator_host>
               $<TARGET_FILE:${project}_reference> $<TARGET_FILE:jansson> PARENT_SCOPE)
endfunction()

# rungs_emulator(PROJECT): the emulator's programs with the project's kernels.
function(rungs_emulator project)
    get_target_property(root ${project}_reference RUNGS_FOLDER)
    file(GLOB kernels CONFIGURE_DEPENDS ${root}/impls/*/cuda_*.cu)
    emulator_worker(rungs_emulator_registry ${project}_impls)
    emulator_libraries(${project} libraries)
    emulator_program(rungs-emulator asan PROJECT ${project} FOLDER bin SOURCES ${kernels}
                     LINK $<TARGET_OBJECTS:rungs_emulator_registry> ${libraries})
    add_custom_target(emulator ALL DEPENDS rungs-emulator)
    emulator_program(rungs-emulator-race race PROJECT ${project} FOLDER bin SOURCES ${kernels}
                     LINK $<TARGET_OBJECTS:rungs_emulator_registry> ${libraries})
endfunction()
