# Variants and ops are found by their paths. generate_registry.py writes the tables and refuses a file whose name or descriptor does
# not fit its path.

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
    if(NOT RUNGS_CUDA)
        set(cuda "")
    endif()
    file(GLOB common CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/impls/common/*.c ${PROJECT_SOURCE_DIR}/impls/common/*/*.c ${PROJECT_SOURCE_DIR}/impls/*/_*.c)
    set(registry ${CMAKE_BINARY_DIR}/${target}_registry.c)
    add_custom_command(OUTPUT ${registry}
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/generate_registry.py --source ${PROJECT_SOURCE_DIR} --out ${registry}
                --variants ${c} ${cuda} --peers ${peers} --references ${RUNGS_REFERENCES}
                --others ${others} --misplaced ${misplaced}
        DEPENDS ${PROJECT_SOURCE_DIR}/cmake/generate_registry.py ${c} ${cuda} ${peers} ${RUNGS_REFERENCES}
        VERBATIM)
    add_library(${target} OBJECT ${c} ${cuda} ${common} ${registry})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/impls)
    target_link_libraries(${target} PUBLIC rungs_options rungs_reference rungs_base)
    # CPU variants may use everything this machine has; contraction is theirs to choose.
    set_source_files_properties(${c} PROPERTIES COMPILE_OPTIONS "-march=${RUNGS_CPU_ARCHITECTURE}")
    if(RUNGS_CUDA)
        target_link_libraries(${target} PUBLIC CUDA::cudart_static)
        target_compile_options(${target} PRIVATE ${RUNGS_CUDA_OPTIONS})
    endif()
endfunction()

# rungs_code(PROGRAM TARGET): the program knows the hash of each variant's machine code, from the objects of TARGET.
function(rungs_code program target)
    set(code ${CMAKE_BINARY_DIR}/${target}_code.c)
    add_custom_command(OUTPUT ${code}
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/code_hashes.py --source ${PROJECT_SOURCE_DIR} --out ${code} $<TARGET_OBJECTS:${target}>
        DEPENDS ${PROJECT_SOURCE_DIR}/cmake/code_hashes.py ${PROJECT_SOURCE_DIR}/cmake/elf_code.py $<TARGET_OBJECTS:${target}>
        COMMAND_EXPAND_LISTS VERBATIM)
    target_sources(${program} PRIVATE ${code})
endfunction()

if(RUNGS_CUDA)
    set(RUNGS_CUDA_OPTIONS "$<$<COMPILE_LANGUAGE:CUDA>:-lineinfo;-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers>")
    target_compile_options(rungs_measure PRIVATE ${RUNGS_CUDA_OPTIONS})
    target_compile_options(rungs_device PRIVATE ${RUNGS_CUDA_OPTIONS})
endif()
rungs_registry(rungs_impls impls)
