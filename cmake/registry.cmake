# Variants and ops are found by their paths. generate_registry.py writes the tables and refuses a file whose name or descriptor does
# not fit its path.

# rungs_registry(TARGET PROJECT FOLDER...): an object library of every variant in FOLDER/<op>/ with all ops of the project and the generated
# tables.
function(rungs_registry target project)
    get_target_property(root ${project}_reference RUNGS_FOLDER)
    get_target_property(references ${project}_reference RUNGS_REFERENCES)
    set(c "")
    set(cuda "")
    set(peers "")
    set(others "") # beside the variants and not of their names: the generator says what is wrong with each
    set(misplaced "")
    foreach(folder ${ARGN})
        set(folder ${root}/${folder})
        file(GLOB found_c CONFIGURE_DEPENDS ${folder}/*/cpu_*.c)
        file(GLOB found_cuda CONFIGURE_DEPENDS ${folder}/*/cuda_*.cu)
        file(GLOB found_peers CONFIGURE_DEPENDS ${folder}/*/peer_*.py)
        list(APPEND c ${found_c})
        list(APPEND cuda ${found_cuda})
        list(APPEND peers ${found_peers})
        # Neither hidden files nor __pycache__, which comes and goes: a glob that changes configures anew.
        file(GLOB found_others LIST_DIRECTORIES true CONFIGURE_DEPENDS ${folder}/[!_.]*/[!_.]*[!~])
        list(REMOVE_ITEM found_others ${found_c} ${found_cuda} ${found_peers})
        file(GLOB found_misplaced CONFIGURE_DEPENDS ${folder}/*.c ${folder}/*.cu ${folder}/*.py)
        list(APPEND others ${found_others})
        list(APPEND misplaced ${found_misplaced})
    endforeach()
    set(kernels "")
    set(emulator "")
    set(tables ${CMAKE_BINARY_DIR}/${target}_registry.c)
    if(RUNGS_EMULATOR)
        set(kernels ${cuda})
        list(APPEND tables ${CMAKE_BINARY_DIR}/${target}_emulator_registry.c)
        set(emulator --emulator-out ${CMAKE_BINARY_DIR}/${target}_emulator_registry.c)
    endif()
    if(NOT RUNGS_CUDA AND NOT RUNGS_CUDA_EMULATED)
        set(cuda "")
    endif()
    list(GET tables 0 registry)
    set(emulated "")
    if(RUNGS_CUDA_EMULATED)
        set(emulated --emulated)
    endif()
    add_custom_command(OUTPUT ${tables}
        COMMAND ${Python3_EXECUTABLE} ${RUNGS_TOOLS}/generate_registry.py --source ${root} --out ${registry} ${emulated} ${emulator}
                --variants ${c} ${cuda} --peers ${peers} --kernels ${kernels} --references ${references}
                --others ${others} --misplaced ${misplaced}
        DEPENDS ${RUNGS_TOOLS}/generate_registry.py ${c} ${cuda} ${kernels} ${peers} ${references}
        VERBATIM)
    add_custom_target(${target}_tables DEPENDS ${tables})
    add_library(${target} OBJECT ${c} ${cuda} ${registry})
    add_dependencies(${target} ${target}_tables)
    target_include_directories(${target} PRIVATE ${root}/impls)
    target_link_libraries(${target} PUBLIC ${project}_impls_shared PRIVATE ${project}_language)
    # CPU variants may use everything this machine has; contraction is theirs to choose.
    set_source_files_properties(${c} PROPERTIES COMPILE_OPTIONS "-march=${RUNGS_CPU_ARCHITECTURE}")
    if(RUNGS_CUDA)
        target_link_libraries(${target} PUBLIC $<LINK_ONLY:CUDA::cudart_static>)
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
        INCLUDE_DIRECTORIES ${RUNGS_EMULATED_INCLUDE}
        COMPILE_OPTIONS "-xc++;-O0;-w;-isystem;${RUNGS_CUDA_HEADERS}")
endfunction()

# rungs_program(TARGET IMPLS PROJECT): the program with the variants of a registry. It knows the hash of each variant's machine code.
function(rungs_program target impls project)
    get_target_property(root ${project}_reference RUNGS_FOLDER)
    set(code ${CMAKE_BINARY_DIR}/${impls}_code.c)
    set(objects $<TARGET_OBJECTS:${impls}> $<TARGET_OBJECTS:${project}_impls_shared>)
    add_custom_command(OUTPUT ${code}
        COMMAND ${Python3_EXECUTABLE} ${RUNGS_TOOLS}/code_hashes.py --source ${root} --harness $<TARGET_FILE:rungs_base> --out ${code} ${objects}
        DEPENDS ${RUNGS_TOOLS}/code_hashes.py ${RUNGS_TOOLS}/elf_code.py $<TARGET_FILE:rungs_base> ${objects}
        COMMAND_EXPAND_LISTS VERBATIM)
    add_executable(${target} ${code})
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(${target} PRIVATE rungs_main ${impls} ${project}_facts)
endfunction()
