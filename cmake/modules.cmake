# Variants are compiled when they are needed, by modules.py; this writes what it has to know, settings.json in the folder of the modules.

# json_words(OUT words...): ["a", "b"]
function(json_words out)
    set(text "")
    foreach(word ${ARGN})
        string(REPLACE "\\" "\\\\" word "${word}")
        string(REPLACE "\"" "\\\"" word "${word}")
        list(APPEND text "\"${word}\"")
    endforeach()
    list(JOIN text ", " text)
    set(${out} "[${text}]" PARENT_SCOPE)
endfunction()

# link_words(OUT libraries...): files and options for the linker; a target stands for its file and what it links.
function(link_words out)
    set(words "")
    foreach(library ${ARGN})
        if(NOT TARGET ${library})
            if(NOT library MATCHES "^(-|/|\\$<)")
                set(library -l${library})
            endif()
            list(APPEND words ${library})
            continue()
        endif()
        get_target_property(type ${library} TYPE)
        get_target_property(more ${library} INTERFACE_LINK_LIBRARIES)
        if(NOT type STREQUAL "INTERFACE_LIBRARY")
            list(APPEND words $<TARGET_LINKER_FILE:${library}>)
        endif()
        if(more)
            link_words(more ${more})
            list(APPEND words ${more})
        endif()
    endforeach()
    set(${out} ${words} PARENT_SCOPE)
endfunction()

# emulator_settings(KIND OUT PROJECT): how clang makes a module for an emulator's program, as JSON.
function(emulator_settings kind out project)
    emulator_options(${kind} ${project} options precompiled)
    set(targets ${RUNGS_EMULATOR_PROGRAM_${kind}})
    if(precompiled AND NOT kind STREQUAL memory) # programs as they are use none
        list(APPEND options -include-pch ${precompiled})
        list(APPEND targets emulator_precompiled_${kind})
    endif()
    json_words(compile ${RUNGS_CLANGXX} ${options})
    json_words(names ${emulator_names_${kind}})
    json_words(link ${RUNGS_CLANGXX} ${emulator_link_${kind}})
    json_words(targets ${targets})
    set(${out} "{\"program\": \"${CMAKE_BINARY_DIR}/bin/${RUNGS_EMULATOR_PROGRAM_${kind}}\", \"targets\": ${targets},
  \"compile\": ${compile},
  \"names\": ${names}, \"link\": ${link}}" PARENT_SCOPE)
endfunction()

# rungs_modules(PROGRAM PROJECT MODULES IMPLS definitions...): how the modules of a program are made, from IMPLS/<op>/ of the project into
# MODULES of the build folder. The target PROGRAM_modules makes all of them.
function(rungs_modules program project modules impls)
    get_target_property(root ${project}_reference RUNGS_FOLDER)
    get_target_property(libraries ${project}_reference RUNGS_LINK_LIBRARIES)
    set(folder ${CMAKE_BINARY_DIR}/${modules})
    set(probe ${CMAKE_BINARY_DIR}/probes/${program})
    file(CONFIGURE OUTPUT ${probe}.c CONTENT "typedef int empty;\n")
    set(sources ${probe}.c)
    if(RUNGS_CUDA)
        file(CONFIGURE OUTPUT ${probe}.cu CONTENT "\n")
        list(APPEND sources ${probe}.cu)
    endif()
    # Its compile commands are those of variants. CPU variants may use everything this machine has; contraction is theirs to choose.
    add_library(${program}_probe OBJECT EXCLUDE_FROM_ALL ${sources})
    target_include_directories(${program}_probe PRIVATE ${root}/impls ${RUNGS_CUB})
    target_link_libraries(${program}_probe PRIVATE rungs_options ${project}_language)
    target_compile_options(${program}_probe PRIVATE $<$<COMPILE_LANGUAGE:C>:-march=${RUNGS_CPU_ARCHITECTURE}>)
    target_compile_definitions(${program}_probe PRIVATE ${ARGN})

    json_words(launcher ${CMAKE_C_COMPILER_LAUNCHER})
    # With other options modules are other ones.
    string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
    json_words(flags ${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}} -march=${RUNGS_CPU_ARCHITECTURE} ${CMAKE_CUDA_FLAGS} ${CMAKE_CUDA_FLAGS_${type}}
               ${CMAKE_CUDA_ARCHITECTURES} $<TARGET_PROPERTY:${program}_probe,INCLUDE_DIRECTORIES> ${ARGN})
    json_words(link ${CMAKE_C_COMPILER} -fopenmp)
    json_words(link_cuda ${CMAKE_CXX_COMPILER} -fopenmp)
    set(runtime "")
    link_words(words ${libraries} -lm)
    json_words(words ${words})
    set(native false)
    if(RUNGS_CUDA)
        set(native true)
        link_words(runtime CUDA::cudart_static)
    endif()
    json_words(runtime ${runtime})
    set(emulated false)
    set(emulators "")
    if(RUNGS_EMULATOR)
        set(emulated true)
        set(emulators ",\n \"engine\": \"$<TARGET_FILE:rungs_emulator_engine>\"")
        foreach(kind ${RUNGS_EMULATOR_KINDS})
            emulator_settings(${kind} of_kind ${project})
            string(APPEND emulators ",\n \"${kind}\": ${of_kind}")
        endforeach()
    endif()
    set(cuda false)
    if(RUNGS_CUDA OR RUNGS_CUDA_EMULATED)
        set(cuda true)
    endif()
    list(GET RUNGS_INCLUDES 0 harness)
    file(GENERATE OUTPUT ${folder}/settings.json CONTENT
"{\"root\": \"${root}\", \"impls\": \"${impls}\", \"python\": \"${Python3_EXECUTABLE}\", \"harness\": \"${harness}\",
 \"build\": \"${CMAKE_BINARY_DIR}\", \"lock\": \"${RUNGS_BUILD_LOCK}\", \"base\": \"$<TARGET_FILE:rungs_base>\",
 \"program\": \"$<TARGET_FILE:${program}>\", \"cuda\": ${cuda}, \"native\": ${native}, \"emulated\": ${emulated},
 \"commands\": \"${CMAKE_BINARY_DIR}/compile_commands.json\", \"objcopy\": \"${CMAKE_OBJCOPY}\", \"probe\": \"${probe}\", \"flags\": ${flags}, \"compile\": {}, \"launcher\": ${launcher},
 \"link\": ${link}, \"link_cuda\": ${link_cuda}, \"runtime\": ${runtime}, \"libraries\": ${words}${emulators}}
")
    set(kinds native)
    if(RUNGS_EMULATOR)
        list(APPEND kinds asan)
    endif()
    add_custom_target(${program}_modules COMMAND ${Python3_EXECUTABLE} ${RUNGS_TOOLS}/modules.py ${folder} --all ${kinds} VERBATIM
                      COMMENT "Compiling the variants of ${program}")
    add_dependencies(${program}_modules ${program})
    if(RUNGS_EMULATOR)
        add_dependencies(${program}_modules emulator)
        if(TARGET emulator_precompiled_asan)
            add_dependencies(${program}_modules emulator_precompiled_asan)
        endif()
        add_custom_target(${program}_race_modules COMMAND ${Python3_EXECUTABLE} ${RUNGS_TOOLS}/modules.py ${folder} --all race VERBATIM
                          COMMENT "Compiling the variants of ${program} (race)" DEPENDS rungs-emulator-race $<$<BOOL:${RUNGS_EMULATOR_PRECOMPILES}>:emulator_precompiled_race>)
        add_dependencies(${program}_race_modules ${program})
    endif()
endfunction()

# rungs_loads_modules(TARGET PROJECT): ops are found by their section; modules may call what of base/ the program itself does not.
function(rungs_loads_modules target project)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(${target} PRIVATE ${project}_reference)
    target_link_options(${target} PRIVATE # options are quoted, as paths may hold blanks
        LINKER:--whole-archive,$<TARGET_FILE:${project}_reference>,$<TARGET_FILE:rungs_base>,--no-whole-archive
        LINKER:--dynamic-list=${RUNGS_LIBRARIES}/exports)
    foreach(needed rungs_exported rungs_measure_library) # by name, where these are built: the workers of Python libraries open the second
        if(TARGET ${needed})
            add_dependencies(${target} ${needed})
        endif()
    endforeach()
endfunction()

# rungs_program(TARGET PROJECT MODULES IMPLS definitions...): a program with the ops of a project, and the modules of IMPLS.
function(rungs_program target project modules impls)
    rungs_facts(${target}_facts ${project} ${modules})
    add_executable(${target} ${RUNGS_TOOLS}/empty.c)
    rungs_loads_modules(${target} ${project})
    target_link_libraries(${target} PRIVATE rungs_main ${target}_facts)
    rungs_modules(${target} ${project} ${modules} ${impls} ${ARGN})
endfunction()
