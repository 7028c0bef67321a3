# Variants and ops are found by their paths. generate_registry.py writes the tables and refuses a file whose name or descriptor does
# not fit its path.

# What variants share, compiled once for every program that has variants.
file(GLOB shared CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/impls/common/*.c ${PROJECT_SOURCE_DIR}/impls/common/*/*.c
                                   ${PROJECT_SOURCE_DIR}/impls/*/_*.c)
add_library(rungs_impls_shared STATIC ${shared})
target_include_directories(rungs_impls_shared PRIVATE ${PROJECT_SOURCE_DIR}/impls)
target_link_libraries(rungs_impls_shared PUBLIC rungs_options rungs_reference rungs_base)
target_compile_options(rungs_impls_shared PRIVATE $<$<COMPILE_LANGUAGE:C>:-march=${RUNGS_CPU_ARCHITECTURE}>)

# rungs_registry(TARGET FOLDER...): an object library of every variant in FOLDER/<op>/ with all ops and the generated tables.
function(rungs_registry target)
    set(c "")
    set(cuda "")
    set(peers "")
    set(others "") # beside the variants and not of their names: the generator says what is wrong with each
    set(misplaced "")
    foreach(folder ${ARGN})
        file(GLOB found_c CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*/cpu_*.c)
        file(GLOB found_cuda CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*/cuda_*.cu)
        file(GLOB found_peers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*/peer_*.py)
        list(APPEND c ${found_c})
        list(APPEND cuda ${found_cuda})
        list(APPEND peers ${found_peers})
        # Neither hidden files nor __pycache__, which comes and goes: a glob that changes configures anew.
        file(GLOB found_others LIST_DIRECTORIES true CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/[!_.]*/[!_.]*[!~])
        list(REMOVE_ITEM found_others ${found_c} ${found_cuda} ${found_peers})
        file(GLOB found_misplaced CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c ${PROJECT_SOURCE_DIR}/${folder}/*.cu
                                                    ${PROJECT_SOURCE_DIR}/${folder}/*.py)
        list(APPEND others ${found_others})
        list(APPEND misplaced ${found_misplaced})
    endforeach()
    if(NOT RUNGS_CUDA AND NOT RUNGS_CUDA_EMULATED)
        set(cuda "")
    endif()
    set(registry ${CMAKE_BINARY_DIR}/${target}_registry.c)
    set(emulated "")
    if(RUNGS_CUDA_EMULATED)
        set(emulated --emulated)
    endif()
    add_custom_command(OUTPUT ${registry}
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/generate_registry.py --source ${PROJECT_SOURCE_DIR} --out ${registry} ${emulated}
                --variants ${c} ${cuda} --peers ${peers} --references ${RUNGS_REFERENCES}
                --others ${others} --misplaced ${misplaced}
        DEPENDS ${PROJECT_SOURCE_DIR}/cmake/generate_registry.py ${c} ${cuda} ${peers} ${RUNGS_REFERENCES}
        VERBATIM)
    add_library(${target} OBJECT ${c} ${cuda} ${registry})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/impls)
    target_link_libraries(${target} PUBLIC rungs_impls_shared)
    # CPU variants may use everything this machine has; contraction is theirs to choose.
    set_source_files_properties(${c} PROPERTIES COMPILE_OPTIONS "-march=${RUNGS_CPU_ARCHITECTURE}")
    if(RUNGS_CUDA)
        target_link_libraries(${target} PUBLIC $<LINK_ONLY:CUDA::cudart_static>)
        target_compile_options(${target} PRIVATE ${RUNGS_CUDA_OPTIONS})
    elseif(RUNGS_CUDA_EMULATED)
        rungs_descriptors(${cuda})
        target_link_libraries(${target} PUBLIC rungs_emulator_engine)
    endif()
endfunction()

# rungs_descriptors(kernels...): what the program needs of variants that the emulator runs is their descriptors, supports() and so on,
# from the C++ compiler; their kernels are compiled with them and never called.
function(rungs_descriptors)
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX
        COMPILE_DEFINITIONS RUNGS_EMULATED
        INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/emulator/include
        COMPILE_OPTIONS "-xc++;-O0;-w;-isystem;${RUNGS_CUDA_HEADERS}")
endfunction()

# rungs_code(PROGRAM TARGET): the program knows the hash of each variant's machine code, from the objects of TARGET.
function(rungs_code program target)
    set(code ${CMAKE_BINARY_DIR}/${target}_code.c)
    set(objects $<TARGET_OBJECTS:${target}> $<TARGET_OBJECTS:rungs_impls_shared>)
    add_custom_command(OUTPUT ${code}
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/code_hashes.py --source ${PROJECT_SOURCE_DIR} --out ${code} ${objects}
        DEPENDS ${PROJECT_SOURCE_DIR}/cmake/code_hashes.py ${PROJECT_SOURCE_DIR}/cmake/elf_code.py ${objects}
        COMMAND_EXPAND_LISTS VERBATIM)
    target_sources(${program} PRIVATE ${code})
endfunction()

if(RUNGS_CUDA)
    set(RUNGS_CUDA_OPTIONS "$<$<COMPILE_LANGUAGE:CUDA>:-lineinfo;-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers>")
    target_compile_options(rungs_measure PRIVATE ${RUNGS_CUDA_OPTIONS})
    target_compile_options(rungs_device PRIVATE ${RUNGS_CUDA_OPTIONS})
endif()
rungs_registry(rungs_impls impls)
