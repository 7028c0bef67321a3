# The emulator's programs. Kernels are compiled by clang, once for each way of watching them; everything else is C and compiled as
# usual. Adding a variant changes nothing here.
#
#   bin/rungs-emulator       AddressSanitizer, UBSan, preemption at every basic block
#   bin/rungs-emulator-race  the race detector, which also sees uninitialised reads; built for the tests, or when it is asked for
set(emulator_dir ${PROJECT_SOURCE_DIR}/emulator)
find_program(RUNGS_CLANGXX NAMES clang++ clang++-14 clang++-15 clang++-16 clang++-17 clang++-18 clang++-19)
if(NOT RUNGS_CLANGXX)
    message(FATAL_ERROR "clang++ is missing: apt-get install clang (./rungs does it), or configure with -DRUNGS_EMULATOR=OFF")
endif()

# The emulator stands in for the CUDA runtime.
add_library(rungs_emulator_options INTERFACE)
target_include_directories(rungs_emulator_options INTERFACE ${PROJECT_SOURCE_DIR}/harness ${PROJECT_SOURCE_DIR} ${CMAKE_BINARY_DIR}/include)
target_include_directories(rungs_emulator_options SYSTEM INTERFACE ${RUNGS_CUDA_HEADERS})
target_compile_definitions(rungs_emulator_options INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
target_compile_options(rungs_emulator_options INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror -fopenmp -g)

file(GLOB emulator_engine CONFIGURE_DEPENDS ${emulator_dir}/*.c)
list(REMOVE_ITEM emulator_engine ${emulator_dir}/main.c)
add_library(rungs_emulator_engine STATIC ${emulator_engine})
target_compile_options(rungs_emulator_engine PRIVATE -O2)
target_link_libraries(rungs_emulator_engine PRIVATE rungs_emulator_options)

file(GLOB emulator_host CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/harness/device/*.c ${PROJECT_SOURCE_DIR}/harness/plan/registry.c)
list(FILTER emulator_host EXCLUDE REGEX "/no_emulator.c$")
add_library(rungs_emulator_host STATIC ${emulator_host})
target_link_libraries(rungs_emulator_host PRIVATE rungs_emulator_options)

file(GLOB emulator_variants CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/impls/*/cuda_*.cu)
# It verifies and takes no times: a worker without the measure module.
file(GLOB emulator_worker CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/harness/worker/*.c)
list(FILTER emulator_worker EXCLUDE REGEX "/(timing|counters|limits).c$")
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/emulator)

# emulator_worker(TARGET kernels...): the worker of an emulator program, with the registry of these kernels.
function(emulator_worker target)
    set(registry ${CMAKE_BINARY_DIR}/emulator/${target}_registry.c)
    add_custom_command(OUTPUT ${registry}
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/generate_registry.py --source ${PROJECT_SOURCE_DIR}
                --out ${registry} --emulated --variants ${ARGN} --references ${RUNGS_REFERENCES}
        DEPENDS ${PROJECT_SOURCE_DIR}/cmake/generate_registry.py ${ARGN} ${RUNGS_REFERENCES}
        VERBATIM)
    add_library(${target} OBJECT ${emulator_dir}/main.c ${emulator_worker} ${registry})
    target_link_libraries(${target} PRIVATE rungs_emulator_options)
endfunction()
emulator_worker(rungs_emulator_main ${emulator_variants})

# How kernels are compiled. Nothing is contracted or vectorised: the device's compiler decides for itself.
set(emulator_flags -x c++ -std=c++20 -O1 -g -gdwarf-4 -fno-omit-frame-pointer -ffp-contract=off -fno-vectorize -fno-slp-vectorize
    -Wall -Wextra -Wno-unused-function -Wno-missing-field-initializers -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE
    -DRUNGS_EMULATED -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -I${emulator_dir}/include -I${PROJECT_SOURCE_DIR}/harness -I${PROJECT_SOURCE_DIR}
    -I${PROJECT_SOURCE_DIR}/impls -isystem ${RUNGS_CUDA_HEADERS})
set(emulator_flags_plain -fsanitize-coverage=trace-pc,edge,no-prune) # calls the engine at every basic block
set(emulator_flags_asan -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-sanitize=function,vptr ${emulator_flags_plain})
set(emulator_flags_race -fsanitize=thread -mllvm -tsan-distinguish-volatile -mllvm -tsan-instrument-read-before-write=1
    -mllvm -tsan-instrument-func-entry-exit=0)
set(emulator_link_plain)
set(emulator_link_asan -fsanitize=address,undefined -fno-sanitize=function,vptr)
set(emulator_link_race)

# emulator_program(NAME KIND FOLDER folder SOURCES kernels... LINK objects and libraries...): a program of kernels watched in one way.
function(emulator_program name kind)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "FOLDER" "SOURCES;LINK")
    set(objects)
    foreach(source ${arg_SOURCES})
        get_filename_component(folder ${source} DIRECTORY)
        get_filename_component(folder ${folder} NAME)
        get_filename_component(stem ${source} NAME_WE)
        set(object ${CMAKE_BINARY_DIR}/emulator/${kind}/${folder}__${stem}.o)
        set(names --redefine-sym malloc=emulator_malloc --redefine-sym free=emulator_free) # in kernels, the device's heap
        if(kind STREQUAL "race") # copies of structures are calls of these: let the detector see them
            list(APPEND names --redefine-sym memcpy=emulator_memcpy --redefine-sym memmove=emulator_memmove --redefine-sym memset=emulator_memset)
        endif()
        add_custom_command(OUTPUT ${object}
            COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/emulator/${kind}
            COMMAND ${RUNGS_CLANGXX} ${emulator_flags} ${emulator_flags_${kind}} "-DRUNGS_UNIT=\"${folder}__${stem}\"" -MD -MF ${object}.d
                    -c ${source} -o ${object}
            COMMAND ${CMAKE_OBJCOPY} ${names} ${object}
            DEPENDS ${source} DEPFILE ${object}.d
            COMMENT "Emulating ${folder}/${stem} (${kind})" VERBATIM)
        list(APPEND objects ${object})
    endforeach()
    set(program ${CMAKE_BINARY_DIR}/${arg_FOLDER}/${name})
    add_custom_command(OUTPUT ${program}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/${arg_FOLDER}
        COMMAND ${RUNGS_CLANGXX} ${emulator_link_${kind}} -o ${program} ${objects} ${arg_LINK} $<TARGET_FILE:rungs_emulator_engine>
                $<TARGET_FILE:rungs_base> -lgomp -lm -ldl -lrt -lpthread
        DEPENDS ${objects} ${arg_LINK} rungs_emulator_engine rungs_base
        COMMENT "Linking ${name}" COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(${name} DEPENDS ${program})
endfunction()

set(emulator_link $<TARGET_FILE:rungs_impls_shared> $<TARGET_FILE:rungs_emulator_host> $<TARGET_FILE:rungs_reference> $<TARGET_FILE:jansson>)
emulator_program(rungs-emulator asan FOLDER bin SOURCES ${emulator_variants} LINK $<TARGET_OBJECTS:rungs_emulator_main> ${emulator_link})
add_custom_target(emulator ALL DEPENDS rungs-emulator)
emulator_program(rungs-emulator-race race FOLDER bin SOURCES ${emulator_variants} LINK $<TARGET_OBJECTS:rungs_emulator_main> ${emulator_link})
