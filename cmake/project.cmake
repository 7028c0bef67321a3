# rungs_add_project: a program from a folder of ops and variants.
#
#     find_package(rungs 1.0 REQUIRED)
#     rungs_add_project(mykernels
#         [INCLUDE_DIRECTORIES folder...]    for the project's references and variants
#         [LINK_LIBRARIES library...]        CMake targets, files or -l options that they call
#         [WARNINGS_AS_ERRORS]               else warnings are warnings
#         [CUDA_ARCHITECTURES 90...]         default: RUNGS_CUDA_ARCHITECTURES
#         [CXX_STANDARD 20])                 of CUDA variants; at least 17
#
# The folder of the calling CMakeLists.txt has reference/<op>.c (or reference/<op>/), impls/<op>/<variant>.c|.cu|.py and scenarios/. The
# program is bin/mykernels in the build folder, with the emulator's programs beside it; variants are compiled into modules/ there. It has every verb; rows carry the commit of the
# folder's repository as it is when the program is built.
set(RUNGS_CPU_ARCHITECTURE native CACHE STRING "-march of the CPU variants and ceilings; name one to run the build on another machine")
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT RUNGS_BUILD_LOCK)
    set(RUNGS_BUILD_LOCK ${CMAKE_BINARY_DIR}/.lock) # of builds that a run starts
endif()
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
include(${CMAKE_CURRENT_LIST_DIR}/emulator.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/modules.cmake)

# rungs_language(TARGET FOLDER folder [CXX_STANDARD n] [WARNINGS_AS_ERRORS]): an interface library with how sources of a folder are compiled.
# Messages and hashes of code name files below the folder, wherever it lies.
function(rungs_language target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "WARNINGS_AS_ERRORS" "FOLDER;CXX_STANDARD" "")
    if(NOT arg_CXX_STANDARD)
        set(arg_CXX_STANDARD 20)
    endif()
    set(error "")
    set(cuda_error "")
    if(arg_WARNINGS_AS_ERRORS)
        set(error -Werror)
        set(cuda_error -Werror=all-warnings)
    endif()
    add_library(${target} INTERFACE)
    target_compile_options(${target} INTERFACE
        "$<$<COMPILE_LANGUAGE:C>:-std=c17;-Wall;-Wextra;-Wconversion;-Wshadow;${error};-fmacro-prefix-map=${arg_FOLDER}/=>"
        "$<$<COMPILE_LANGUAGE:CXX>:-std=c++${arg_CXX_STANDARD};-Wall;-Wextra;-Wshadow;${error};-fmacro-prefix-map=${arg_FOLDER}/=>")
    if(RUNGS_CUDA)
        target_compile_options(${target} INTERFACE
            "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++${arg_CXX_STANDARD};-lineinfo;${cuda_error};-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers>"
            "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fmacro-prefix-map=${arg_FOLDER}/=>")
    endif()
endfunction()

# The file by which a program of this build folder finds project and harness (harness/base/places.h).
function(rungs_places folder)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/rungs-places @ONLY
         CONTENT "project ${folder}\nharness ${RUNGS_HARNESS}\nlibraries ${RUNGS_LIBRARIES}\n")
endfunction()

# The header with the commit of the project's repository, looked at in each build.
function(rungs_commit name folder)
    set(header ${CMAKE_BINARY_DIR}/include/${name}_commit.h)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
    add_custom_target(${name}_commit COMMAND ${Python3_EXECUTABLE} ${RUNGS_TOOLS}/checkout.py ${folder} ${header} BYPRODUCTS ${header} VERBATIM
                      COMMENT "Asking git for the commit of ${name}")
endfunction()

# rungs_facts(TARGET PROJECT MODULES): what a program of the project knows of its own build.
function(rungs_facts target name modules)
    get_target_property(standard ${name}_reference RUNGS_CXX_STANDARD)
    get_target_property(architectures ${name}_reference RUNGS_CUDA_ARCHITECTURES)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
    string(STRIP "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}} -std=c17 -ffp-contract=off -fopenmp (impls: -march=${RUNGS_CPU_ARCHITECTURE})" c_flags)
    string(STRIP "${CMAKE_CUDA_FLAGS} -std=c++${standard} ${CMAKE_CUDA_FLAGS_${type}}" cuda_flags)
    string(REPLACE ";" "," cuda_architectures "${architectures}")
    set(cuda_compiler "")
    if(RUNGS_CUDA)
        set(cuda_compiler "nvcc ${CMAKE_CUDA_COMPILER_VERSION}")
    else()
        set(cuda_flags "")
    endif()
    set(build_type ${CMAKE_BUILD_TYPE})
    if(RUNGS_BUILD_TYPE AND NOT RUNGS_BUILD_TYPE STREQUAL "Release") # of the prefix: it times
        set(build_type ${RUNGS_BUILD_TYPE})
    endif()
    set(project ${name})
    configure_file(${RUNGS_TOOLS}/program.c.in ${CMAKE_BINARY_DIR}/${target}.c @ONLY)
    add_library(${target} OBJECT ${CMAKE_BINARY_DIR}/${target}.c)
    target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/include)
    target_link_libraries(${target} PRIVATE rungs_options)
    add_dependencies(${target} ${name}_commit)
endfunction()

function(rungs_add_project name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "WARNINGS_AS_ERRORS" "CXX_STANDARD" "INCLUDE_DIRECTORIES;LINK_LIBRARIES;CUDA_ARCHITECTURES")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "rungs: rungs_add_project(${name}): unknown word '${arg_UNPARSED_ARGUMENTS}'; see ${CMAKE_CURRENT_FUNCTION_LIST_FILE}")
    endif()
    if(NOT name MATCHES "^[a-z][a-z0-9_-]*$")
        message(FATAL_ERROR "rungs: rungs_add_project(${name}): the name must be of a-z, 0-9, _ and -, and begin with a letter")
    endif()
    set(folder ${CMAKE_CURRENT_SOURCE_DIR})
    set(strict "")
    if(arg_WARNINGS_AS_ERRORS)
        set(strict WARNINGS_AS_ERRORS)
    endif()
    if(NOT arg_CUDA_ARCHITECTURES)
        set(arg_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
    endif()
    if(NOT arg_CXX_STANDARD)
        set(arg_CXX_STANDARD 20)
    endif()
    set(CMAKE_CUDA_ARCHITECTURES ${arg_CUDA_ARCHITECTURES}) # of the targets below

    rungs_places(${folder})
    rungs_commit(${name} ${folder})

    # What everything of the project is compiled with. Its relative folders are the project's.
    set(includes "")
    foreach(include ${arg_INCLUDE_DIRECTORIES})
        get_filename_component(include ${include} ABSOLUTE BASE_DIR ${folder})
        list(APPEND includes ${include})
    endforeach()
    rungs_language(${name}_language ${strict} FOLDER ${folder} CXX_STANDARD ${arg_CXX_STANDARD})
    target_include_directories(${name}_language INTERFACE ${includes})
    target_link_libraries(${name}_language INTERFACE ${arg_LINK_LIBRARIES})

    file(GLOB references CONFIGURE_DEPENDS ${folder}/reference/*.c ${folder}/reference/*/*.c)
    file(GLOB in_python CONFIGURE_DEPENDS ${folder}/reference/*.py)
    foreach(source ${in_python}) # the descriptor of reference/<op>.py
        get_filename_component(op ${source} NAME_WE)
        set(made ${CMAKE_BINARY_DIR}/descriptors/reference/${op}.c)
        add_custom_command(OUTPUT ${made} COMMAND ${Python3_EXECUTABLE} ${RUNGS_TOOLS}/python_op.py ${source} ${made}
                           DEPENDS ${source} ${RUNGS_TOOLS}/python_op.py VERBATIM)
        list(APPEND references ${made})
    endforeach()
    if(NOT references)
        message(FATAL_ERROR "rungs: ${folder}/reference has neither .c nor .py files: an op is reference/<op>.c with RUNGS_OP(<op>), or "
                            "reference/<op>.py; `rungs new` writes an example")
    endif()
    foreach(reference ${references})
        get_filename_component(op ${reference} DIRECTORY)
        get_filename_component(op ${op} NAME)
        if(reference MATCHES "/op.c$" AND EXISTS ${folder}/reference/${op}.c)
            message(FATAL_ERROR "rungs: reference/${op}/op.c: reference/${op}.c defines the op '${op}' too: remove one of them")
        endif()
    endforeach()
    add_library(${name}_reference STATIC ${references})
    set_target_properties(${name}_reference PROPERTIES RUNGS_FOLDER ${folder} RUNGS_INCLUDES "${includes}" RUNGS_CXX_STANDARD ${arg_CXX_STANDARD}
                          RUNGS_CUDA_ARCHITECTURES "${arg_CUDA_ARCHITECTURES}" RUNGS_LINK_LIBRARIES "${arg_LINK_LIBRARIES}")
    target_link_libraries(${name}_reference PUBLIC rungs_options rungs_base PRIVATE ${name}_language)
    # The reference may use everything this machine has: without contraction its bits stay the same, and exact products are faster.
    target_compile_options(${name}_reference PRIVATE $<$<COMPILE_LANGUAGE:C>:-march=${RUNGS_CPU_ARCHITECTURE}>)
    # GCC 12 drops a rounding to float and back where it makes a vector of two of them; unit.test_ewm_bounds found it.
    if(CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
        target_compile_options(${name}_reference PRIVATE $<$<COMPILE_LANGUAGE:C>:-fno-tree-slp-vectorize>)
    endif()

    if(RUNGS_EMULATOR)
        rungs_emulator(${name})
    endif()
    rungs_program(${name} ${name} modules impls)
    add_custom_target(modules ALL DEPENDS ${name}_modules)
endfunction()
